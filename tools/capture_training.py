#!/usr/bin/env python3
"""Saves what a training step of a PyTorch model holds in memory, as one safetensors file.

    tools/capture_training.py --model resnet50 --batch 16 --steps 200 --out resnet50.safetensors
    tools/capture_training.py --model resnet50 --batch 8 --steps 30 --photographs --out resnet50.safetensors
    tools/capture_training.py --model mine.py:build --batch 8 --out mine.safetensors

The built-in programs train small networks on generated pictures; with this, the compressibility of a real network's
tensors can be measured (`strata compress FILE`). The model is trained for --steps steps, then one more step is run and
saved: `weights/NAME`, `gradients/NAME`, `activations/LAYER` (the output of every layer without children that is still in
memory when the forward pass ends: a layer that works in place has overwritten the one before), `activation-gradients/LAYER`
(PyTorch frees them on the way back, Caffe keeps them), `inputs`, and the optimiser's state as `optimiser/NAME/KEY`.

--model is a name of torchvision.models, or FILE.py:FUNCTION. The function takes no argument and returns the model, or
(model, batch), where batch(count) returns a pair of inputs and labels for cross entropy. Without it inputs are random
images and labels: weights then do not become those of a trained network, which the program says. With --photographs they
are random crops, half of them mirrored, of the sample photographs that scikit-image and scikit-learn come with (free of
rights or under licences that allow this, see their pages), scaled as ImageNet's are; the label is the photograph.

Needs torch and safetensors, torchvision for its models, and scikit-image and scikit-learn for photographs; StrataSim itself
needs none of them.
"""

import argparse
import importlib.util
import sys
from pathlib import Path


def fail(message):
    sys.exit(f"capture_training: {message}")


def needed(module, package=None):
    """Imports an optional module, or says how to get it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        fail(f"{module} is missing ({error}); install it with `pip install {package or module}`")


def load_model(name, classes):
    """The model, and the function that makes its batches or None."""
    if ":" in name:
        path, function = name.rsplit(":", 1)
        if not Path(path).is_file():
            fail(f"there is no file {path}; --model is FILE.py:FUNCTION or a name of torchvision.models")
        spec = importlib.util.spec_from_file_location("captured_model", path)
        if spec is None or spec.loader is None:
            fail(f"{path} is not a Python file")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        if not hasattr(module, function):
            fail(f"{path} has no function {function}")
        built = getattr(module, function)()
        return built if isinstance(built, tuple) else (built, None)
    models = needed("torchvision").models
    if name not in models.list_models():
        fail(f"torchvision has no model {name}; `python3 -c 'import torchvision; print(torchvision.models.list_models())'`")
    return models.get_model(name, num_classes=classes), None


def random_batches(classes, size, torch):
    print("capture_training: no data given, training on random images: values are not a trained network's", file=sys.stderr)
    return lambda count: (torch.randn(count, 3, size, size), torch.randint(classes, (count,)))


def photographs():
    """Colour photographs of two packages, as arrays of height, width and three channels from 0 to 1."""
    data = needed("skimage.data", "scikit-image")
    samples = needed("sklearn.datasets", "scikit-learn")
    pictures = [data.astronaut(), data.cat(), data.coffee(), data.rocket()]
    pictures += [samples.load_sample_image(name) for name in ("china.jpg", "flower.jpg")]
    return [picture / 255.0 for picture in pictures]


def photograph_batches(size, seed, torch):
    random = needed("numpy").random.default_rng(seed)
    # A photograph that is smaller than a crop is enlarged, as ImageNet's are for training.
    resize = needed("skimage.transform", "scikit-image").resize
    pictures = []
    for picture in photographs():
        height, width = picture.shape[:2]
        scale = max(1.0, size / min(height, width))
        pictures.append(resize(picture, (round(height * scale), round(width * scale))) if scale > 1.0 else picture)
    # Means and deviations of ImageNet's channels, as torchvision's models expect.
    mean, deviation = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)

    def crop(label):
        picture = pictures[label]
        top, left = (random.integers(extent - size + 1) for extent in picture.shape[:2])
        part = (picture[top : top + size, left : left + size] - mean) / deviation
        part = part[:, ::-1] if random.integers(2) else part
        return torch.tensor(part.transpose(2, 0, 1).copy(), dtype=torch.float32)

    def batch(count):
        labels = random.integers(len(pictures), size=count)
        return torch.stack([crop(label) for label in labels]), torch.tensor(labels)

    return batch


def layers(model):
    """The layers that compute: modules without children, by name."""
    return [(name, module) for name, module in model.named_modules() if name and not any(module.children())]


def train_step(model, optimiser, inputs, labels, torch):
    optimiser.zero_grad()
    outputs = model(inputs)
    # Inception and GoogLeNet return their auxiliary scores beside the scores.
    scores = outputs[0] if isinstance(outputs, tuple) else outputs
    loss = torch.nn.functional.cross_entropy(scores, labels)
    loss.backward()
    optimiser.step()
    return loss.item()


def capture(options, torch):
    torch.manual_seed(options.seed)
    model, batches = load_model(options.model, options.classes)
    if options.photographs:
        batches = photograph_batches(options.image, options.seed, torch)
    batches = batches or random_batches(options.classes, options.image, torch)
    model.train()
    optimiser = torch.optim.SGD(model.parameters(), lr=options.rate, momentum=0.9, weight_decay=5e-4)
    for step in range(options.steps):
        loss = train_step(model, optimiser, *batches(options.batch), torch)
        if step % 10 == 0:
            print(f"step {step}: loss {loss:.3f}", file=sys.stderr)

    tensors = {}

    def keep(name, value):
        if isinstance(value, torch.Tensor):
            # A copy: safetensors refuses tensors that share memory, and in-place layers overwrite theirs.
            tensors[name] = value.detach().clone().contiguous().cpu()

    # Whose output is at an address: what comes to lie where another was has overwritten it.
    lies_at = {}

    def computed(name, output):
        if not isinstance(output, torch.Tensor):
            return
        address = output.untyped_storage().data_ptr()
        tensors.pop(f"activations/{lies_at.get(address)}", None)
        lies_at[address] = name
        keep(f"activations/{name}", output)
        if output.requires_grad:
            output.register_hook(lambda gradient: keep(f"activation-gradients/{name}", gradient))

    hooks = [
        module.register_forward_hook(lambda _module, _inputs, output, name=name: computed(name, output))
        for name, module in layers(model)
    ]
    inputs, labels = batches(options.batch)
    keep("inputs", inputs)
    loss = train_step(model, optimiser, inputs, labels, torch)
    for hook in hooks:
        hook.remove()
    for name in [name for name in tensors if name.startswith("activation-gradients/")]:
        if name.replace("activation-gradients/", "activations/", 1) not in tensors:
            del tensors[name]
    for name, parameter in model.named_parameters():
        keep(f"weights/{name}", parameter)
        keep(f"gradients/{name}", parameter.grad)
        for key, value in optimiser.state.get(parameter, {}).items():
            keep(f"optimiser/{name}/{key}", value)
    print(f"captured step {options.steps}: loss {loss:.3f}, {len(tensors)} tensors", file=sys.stderr)
    return tensors


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, help="a name of torchvision.models, or FILE.py:FUNCTION")
    parser.add_argument("--batch", type=int, default=8, help="examples per step (default 8)")
    parser.add_argument("--steps", type=int, default=0, help="steps of training before the captured one (default 0)")
    parser.add_argument("--out", required=True, help="the safetensors file to write")
    parser.add_argument("--photographs", action="store_true", help="train on crops of sample photographs")
    parser.add_argument("--image", type=int, default=224, help="side of images in pixels (default 224)")
    parser.add_argument("--classes", type=int, default=1000, help="classes of random labels (default 1000)")
    parser.add_argument("--rate", type=float, default=0.01, help="learning rate (default 0.01)")
    parser.add_argument("--seed", type=int, default=1, help="seed of weights and random data (default 1)")
    options = parser.parse_args()
    if options.batch < 1 or options.steps < 0:
        fail("--batch must be at least 1 and --steps at least 0")
    torch = needed("torch")
    save = needed("safetensors.torch", "safetensors").save_file
    tensors = capture(options, torch)
    save(tensors, options.out, metadata={"model": options.model, "steps": str(options.steps)})


if __name__ == "__main__":
    main()
