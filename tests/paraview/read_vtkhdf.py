"""Prints what VTK (9.4 or later) finds in a VTKHDF result file, as JSON.

    python read_vtkhdf.py FILE.h5
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from vtkmodules.vtkCommonExecutionModel import vtkStreamingDemandDrivenPipeline
from vtkmodules.vtkIOHDF import vtkHDFReader

from summary import print_series


def main():
    if len(sys.argv) != 2:
        raise SystemExit("usage: read_vtkhdf.py FILE.h5")
    reader = vtkHDFReader()
    reader.SetFileName(sys.argv[1])
    if not reader.CanReadFile(sys.argv[1]):
        raise SystemExit("vtkHDFReader cannot read it")
    reader.UpdateInformation()
    information = reader.GetOutputInformation(0)
    times = information.Get(vtkStreamingDemandDrivenPipeline.TIME_STEPS()) or ()

    def read_image(time):
        reader.UpdateTimeStep(time)
        image = reader.GetOutputDataObject(0)
        if not image.IsA("vtkImageData"):
            raise SystemExit(f"VTK made a {image.GetClassName()} of it")
        return image

    # A file of one step names it twice.
    print_series(sorted(set(times)), read_image)


main()
