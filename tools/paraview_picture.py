"""Draws one field of a run's .pvd series, at one time, as a PNG picture.

tools/pvpython tools/paraview_picture.py outputs/heat_2d/heat_2d.pvd --time 0.5 --output heat.png

A field in one dimension becomes a curve; one in three dimensions is cut through its middle.
"""

import argparse
import os
import sys

from paraview import simple

SIZE = [800, 700]


def main():
    arguments = parse_arguments()
    reader = simple.PVDReader(FileName=os.path.abspath(arguments.series))
    time = nearest_time(reader, arguments.time)
    reader.UpdatePipeline(time)
    data = reader.GetDataInformation()
    if data.GetNumberOfPoints() == 0:
        sys.exit(f"{arguments.series}: no data at time {time:g}")
    field = choose_field(reader, arguments.field)
    bounds = data.GetBounds()
    axes = [axis for axis in range(3) if bounds[2 * axis + 1] > bounds[2 * axis]]
    if len(axes) == 1:
        view = draw_curve(reader, field, axes[0], time)
    else:
        view = draw_plane(reader, field, bounds, axes, arguments, time)
    if not simple.SaveScreenshot(os.path.abspath(arguments.output), view, ImageResolution=SIZE):
        sys.exit(f"{arguments.output}: cannot be written")


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("series", help="the .pvd file")
    parser.add_argument("--field", help="its name; the first one when left out")
    parser.add_argument("--time", type=float, help="the nearest one stored; the last when left out")
    parser.add_argument("--output", required=True, help="the .png file")
    parser.add_argument("--range", type=float, nargs=2, metavar=("LOW", "HIGH"),
                        help="of the colours; the field's own when left out")
    parser.add_argument("--normal", choices="xyz", default="z",
                        help="of the cut through a field in three dimensions (default: z)")
    parser.add_argument("--colors", default="Viridis (matplotlib)",
                        help="a colour map of ParaView's (default: %(default)s)")
    return parser.parse_args()


def nearest_time(reader, wanted):
    times = list(reader.TimestepValues)
    if not times:
        return 0.0
    return times[-1] if wanted is None else min(times, key=lambda time: abs(time - wanted))


def choose_field(reader, wanted):
    names = reader.PointData.keys()
    if wanted is None and names:
        return names[0]
    if wanted not in names:
        sys.exit(f"no point field '{wanted}'; there is: {', '.join(names) or 'none'}")
    return wanted


def draw_curve(reader, field, axis, time):
    name = "xyz"[axis]
    positions = simple.Calculator(Input=reader, ResultArrayName=name)
    positions.Function = f"coords{name.upper()}"
    view = simple.CreateView("XYChartView")
    view.ViewSize = SIZE
    view.ViewTime = time
    display = simple.Show(simple.PlotData(Input=positions), view, "XYChartRepresentation")
    display.AttributeType = "Point Data"
    display.UseIndexForXAxis = 0
    display.XArrayName = name
    display.SeriesVisibility = [field]
    display.SeriesColor = [field, "0.13", "0.35", "0.55"]
    display.SeriesLineThickness = [field, "3"]
    view.BottomAxisTitle = name
    view.LeftAxisTitle = field
    view.ChartTitle = f"time {time:g}"
    view.ShowLegend = 0
    simple.Render(view)
    return view


def draw_plane(reader, field, bounds, axes, arguments, time):
    normal = ({0, 1, 2} - set(axes)).pop() if len(axes) == 2 else "xyz".index(arguments.normal)
    center = [(bounds[2 * axis] + bounds[2 * axis + 1]) / 2 for axis in range(3)]
    shown = reader
    if len(axes) == 3:
        shown = simple.Slice(Input=reader)
        shown.SliceType.Origin = center
        shown.SliceType.Normal = [float(axis == normal) for axis in range(3)]
    view = simple.CreateView("RenderView")
    view.ViewSize = SIZE
    view.ViewTime = time
    view.UseColorPaletteForBackground = 0
    view.Background = [1, 1, 1]
    view.OrientationAxesVisibility = 0
    display = simple.Show(shown, view)
    display.SetRepresentationType("Surface")
    display.Ambient, display.Diffuse, display.Specular = 1, 0, 0  # the colours as the bar has them
    simple.ColorBy(display, ("POINTS", field))
    colors = simple.GetColorTransferFunction(field)
    if not colors.ApplyPreset(arguments.colors, True):
        sys.exit(f"ParaView has no colour map '{arguments.colors}'")
    if arguments.range:
        colors.RescaleTransferFunction(*arguments.range)
    else:
        display.RescaleTransferFunctionToDataRange(False, True)
    draw_scalar_bar(colors, view, field)
    display.SetScalarBarVisibility(view, True)
    simple.Render(view)  # the first one aims the camera itself
    aim_camera(view, bounds, center, normal)
    simple.Render(view)
    return view


def draw_scalar_bar(colors, view, title):
    bar = simple.GetScalarBar(colors, view)
    bar.Title = title
    bar.ComponentTitle = ""
    bar.TitleColor = bar.LabelColor = [0, 0, 0]
    bar.TitleFontSize = bar.LabelFontSize = 18
    bar.AutomaticLabelFormat = 0
    bar.LabelFormat = bar.RangeLabelFormat = "%.3g"
    bar.HorizontalTitle = 1
    bar.WindowLocation = "Any Location"
    bar.Position = [0.85, 0.15]
    bar.ScalarBarLength = 0.7


def aim_camera(view, bounds, center, normal):
    """Fits the plane into the picture's left 84 %, beside the scalar bar."""
    across, up = [axis for axis in range(3) if axis != normal]
    width = bounds[2 * across + 1] - bounds[2 * across]
    height = bounds[2 * up + 1] - bounds[2 * up]
    free = 0.84
    margin = 1.03
    aspect = SIZE[0] / SIZE[1]
    scale = margin * max(height, width / (aspect * free)) / 2
    focus = list(center)
    focus[across] += scale * aspect * (1 - free)
    position = list(focus)
    position[normal] += 2 * (width + height) * (-1 if normal == 1 else 1)
    view.CameraParallelProjection = 1
    view.CameraFocalPoint = focus
    view.CameraPosition = position
    view.CameraViewUp = [float(axis == up) for axis in range(3)]
    view.CameraParallelScale = scale


main()
