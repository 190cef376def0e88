#!/usr/bin/env python3
"""Saves what a training step of a PyTorch model holds in memory, as one safetensors file.

    tools/capture_training.py --model resnet50 --batch 16 --steps 200 --out resnet50.safetensors
    tools/capture_training.py --model mine.py:build --batch 8 --out mine.safetensors

The built-in programs train small networks on generated pictures; with this, the compressibility of a real network's
tensors can be measured (`strata compress FILE`). The model is trained for --steps steps, then one more step is run and
saved: `weights/NAME`, `gradients/NAME`, `activations/LAYER` (the output of every layer without children), `inputs`, and
the optimiser's state as `optimiser/NAME/KEY`.

--model is a name of torchvision.models, or FILE.py:FUNCTION. The function takes no argument and returns the model, or
(model, batch), where batch(count) returns a pair of inputs and labels for cross entropy. Without it inputs are random
images and labels: weights then do not become those of a trained network, which the program says.

Needs torch and safetensors, and torchvision for its models; StrataSim itself needs none of them.
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

    hooks = [
        module.register_forward_hook(lambda _module, _inputs, output, name=name: keep(f"activations/{name}", output))
        for name, module in layers(model)
    ]
    inputs, labels = batches(options.batch)
    keep("inputs", inputs)
    loss = train_step(model, optimiser, inputs, labels, torch)
    for hook in hooks:
        hook.remove()
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
    parser.add_argument("--image", type=int, default=224, help="side of random images in pixels (default 224)")
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
