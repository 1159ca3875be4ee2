"""ROME in float64, one prompt at a time, with an Adam of its own: what `Editor.rome` must give."""

import torch


def run(model, module, ids, place, addend):
    """Return the logits of a row, and the module's input and clean output at a place."""
    seen = {}

    def hook(_, inputs, output):
        seen["key"], seen["value"] = inputs[0][0, place], output[0, place]
        rows = [row + addend if k == place else row for k, row in enumerate(output[0])]
        return torch.stack(rows)[None]

    handle = module.register_forward_hook(hook)
    logits = model(input_ids=torch.tensor([ids])).logits[0]
    handle.remove()
    return logits, seen["key"], seen["value"]


def edit(model, module, prompts, text, moment):
    """Return k0, v0 + delta and u, float64.

    prompts: (ids up to the slot, place of the subject, ids of the target) of each context, the bare
    one first; text: ids and place of the subject in "{subject} is a".
    """
    zero = torch.zeros(1, dtype=torch.float64)
    with torch.no_grad():
        rows = [run(model, module, ids, place, zero) for ids, place, _ in prompts]
        clean = run(model, module, *text, zero)[0][text[1]].softmax(0)
    _, k0, v0 = rows[0]
    u = torch.linalg.inv(moment) @ (sum(key for _, key, _ in rows) / len(rows))
    u = u / u.norm()
    delta, m, v = torch.zeros_like(v0), torch.zeros_like(v0), torch.zeros_like(v0)
    for step in range(1, 21):
        delta = delta.detach().requires_grad_()
        loss = 0.5 * delta.square().sum().add(1e-300).sqrt() / v0.square().sum()
        after = run(model, module, *text, delta)[0][text[1]].softmax(0)
        loss = loss + 0.0625 * (after * (after / clean).log()).sum()
        for ids, place, target in prompts:
            logits = run(model, module, [*ids, *target[:-1]], place, delta)[0]
            for k, token in enumerate(target):
                chance = logits[len(ids) - 1 + k].softmax(0)[token]
                loss = loss - chance.log() / len(target) / len(prompts)
        if loss < 0.05 or step == 20:
            break
        loss.backward()
        m, v = 0.9 * m + 0.1 * delta.grad, 0.999 * v + 0.001 * delta.grad**2
        rate = (m / (1 - 0.9**step)) / ((v / (1 - 0.999**step)).sqrt() + 1e-8)
        delta = delta.detach() - 0.5 * rate
        if delta.norm() > 4 * v0.norm():
            delta = delta * 4 * v0.norm() / delta.norm()
    return k0, v0 + delta.detach(), u
