"""The content of pictures; their types are those of the Spaces."""

from polyprobe.metrics.pictures.picture import (
    Bars,
    Box,
    Boxes,
    Curves,
    Heat,
    Picture,
    Point,
    Points,
    Series,
)

__all__ = ["Bars", "Box", "Boxes", "Curves", "Heat", "Picture", "Point", "Points", "Series"]
