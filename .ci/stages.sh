# Sourced by the scripts beside it: stages with their times.

# stage NAME COMMAND…: runs the command and says how long it took.
stage() {
    local name=$1 began=$SECONDS
    shift
    echo "==> $name: $*"
    "$@"
    echo "<== $name: $((SECONDS - began)) s"
}
