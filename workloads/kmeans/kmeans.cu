// Clustering by k-means: the device finds the nearest centre of every point, the host moves the centres. One point per
// thread; everything lies in global memory.

// Features come point by point and are wanted feature by feature, so that neighbouring threads read neighbouring words.
extern "C" __global__ void invert_mapping(const float *__restrict__ by_point, float *__restrict__ by_feature,
                                          int points, int features)
{
    const int point = blockIdx.x * blockDim.x + threadIdx.x;
    if (point >= points)
        return;
    for (int feature = 0; feature < features; feature++)
        by_feature[feature * points + point] = by_point[point * features + feature];
}

// Of two centres that are equally near, the first is taken.
extern "C" __global__ void kmeans_point(const float *__restrict__ by_feature, const float *__restrict__ centres,
                                        int *membership, int points, int features, int clusters)
{
    const int point = blockIdx.x * blockDim.x + threadIdx.x;
    if (point >= points)
        return;
    int nearest = -1;
    float least = 3.40282347e+38f;
    for (int cluster = 0; cluster < clusters; cluster++) {
        float distance = 0.0f;
        for (int feature = 0; feature < features; feature++) {
            const float apart = by_feature[feature * points + point] - centres[cluster * features + feature];
            distance += apart * apart;
        }
        if (distance < least) {
            least = distance;
            nearest = cluster;
        }
    }
    membership[point] = nearest;
}
