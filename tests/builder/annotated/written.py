"""The inverse of `parse_prompt`, character for character."""

from polyprobe.builder.annotated.grammar import GENDER, Alternatives, Article, Node, Slot, Text


def write_node(node: Node) -> str:
    """Return the text of a node in a prompt."""
    match node:
        case Text():
            return node.text
        case Slot():
            return f"[{node.end}{'.' * bool(node.case)}{node.case}{';be' * node.copula}]"
        case Article():
            joint = "-" if node.tag == GENDER else "." * bool(node.tag)
            name = f"{node.name}{'.' * bool(node.case)}{node.case}"
            return f"[{name};{node.end}{joint}{node.tag}]"
        case Alternatives(options) if options[0].conditions[0].feature == "Human":
            return f"[human: {options[0].form} ; non-human: {options[1].form}]"
        case Alternatives(options):
            texts = (
                form + "".join(f";{end}-{name}={value}" for end, name, value in conditions)
                for form, conditions in options
            )
            return f"[{'|'.join(texts)}]"
