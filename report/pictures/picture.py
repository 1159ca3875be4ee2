"""The content of pictures; their types are those of the Spaces."""

from polyprobe.metrics.pictures.picture import (
    Bars,
    Boxes,
    Curves,
    Heat,
    Picture,
    Point,
    Points,
    Quartiles,
    Series,
)

__all__ = ["Bars", "Boxes", "Curves", "Heat", "Picture", "Point", "Points", "Quartiles", "Series"]
