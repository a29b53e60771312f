"""What both readers print of a time series: one JSON object, the same for every file format."""

import json
import sys

TYPES = {"float": "float32", "double": "float64"}


def corners(dimensions):
    """Indices of the eight corners, x fastest; axes with one point repeat them."""
    nx, ny, nz = dimensions
    return [(i, j, k) for k in (0, nz - 1) for j in (0, ny - 1) for i in (0, nx - 1)]


def summarize_image(image):
    """The point fields of a vtkImageData: type, range and corner values."""
    dimensions = image.GetDimensions()
    point_data = image.GetPointData()
    fields = {}
    for index in range(point_data.GetNumberOfArrays()):
        array = point_data.GetArray(index)
        if array.GetNumberOfTuples() != dimensions[0] * dimensions[1] * dimensions[2]:
            raise SystemExit(f"field {array.GetName()} has {array.GetNumberOfTuples()} values")
        low, high = array.GetRange()
        fields[array.GetName()] = {
            "type": TYPES.get(array.GetDataTypeAsString(), array.GetDataTypeAsString()),
            "components": array.GetNumberOfComponents(),
            "min": low,
            "max": high,
            "corners": [array.GetValue(i + dimensions[0] * (j + dimensions[1] * k))
                        for i, j, k in corners(dimensions)],
        }
    return fields


def print_series(times, read_image):
    """Reads each time with `read_image(time)` and prints the summary of the whole series."""
    steps = []
    image = None
    for time in times:
        image = read_image(time)
        steps.append({"time": time, "fields": summarize_image(image)})
    if image is None:
        raise SystemExit("the file holds no steps")
    result = {
        "dimensions": list(image.GetDimensions()),
        "origin": list(image.GetOrigin()),
        "spacing": list(image.GetSpacing()),
        "times": list(times),
        "fields": sorted(steps[0]["fields"]),
        "steps": steps,
    }
    print(json.dumps(result))
    sys.stdout.flush()
