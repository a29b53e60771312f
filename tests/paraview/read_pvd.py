"""Prints what ParaView finds in a .pvd collection, as JSON. Run by pvbatch or pvpython.

    pvbatch read_pvd.py FILE.pvd
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from paraview import servermanager
from paraview.simple import PVDReader

from summary import print_series


def main():
    if len(sys.argv) != 2:
        raise SystemExit("usage: read_pvd.py FILE.pvd")
    reader = PVDReader(FileName=os.path.abspath(sys.argv[1]))
    reader.UpdatePipelineInformation()
    times = reader.TimestepValues
    times = [float(times)] if isinstance(times, (int, float)) else [float(time) for time in times]

    def read_image(time):
        reader.UpdatePipeline(time)
        image = servermanager.Fetch(reader)
        if not image.IsA("vtkImageData"):
            raise SystemExit(f"ParaView made a {image.GetClassName()} of it")
        return image

    print_series(times, read_image)


main()
