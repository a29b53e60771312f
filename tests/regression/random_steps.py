"""Random configs of simulations with time."""

from random_dice import EPSILON, Case, axes, spacing


FORMULAS = ("interpreter", "compiled")


def rounding_of_steps(config, steps):
    """A step adds some ten roundings of the largest value, and no stable one makes them larger."""
    return 64 * EPSILON[config["precision"]] * (steps + 8)


def of_solves(config, steps):
    """Each is good to 1e-12 of u, or 1e-7, if nothing else is said."""
    return steps * {"float64": 1e-10, "float32": 1e-5}[config["precision"]]


def config_in_time(dice, simulation, grid, time, steps, **sections):
    precision = dice.choice(("float64", "float32"))
    output = dice.output(grid, precision)
    output["every"] = dice.choice(({"count": dice.randint(1, 4)}, {"steps": dice.randint(1, steps)},
                                   {"time": float(f"{time['end'] / dice.number(1, 4):.4g}")}))
    # What a sweep goes through.
    return {"simulation": simulation, "precision": precision, "grid": grid, "constants": {"s": 1}, "output": output,
            "diagnostics": dice.diagnostics(grid), "time": time, **sections}


def end_of(steps, step):
    return float(f"{steps * step:.4g}")


def heat(dice):
    grid, files = dice.grid(with_levels=True), {}
    dims, names = len(grid["points"]), axes(grid)
    scheme = dice.choice(("ftcs", "rk4", "ftcs", "rk4", "backward_euler", "crank_nicolson", "tr_bdf2", "tr_bdf2"))
    explicit = scheme in ("ftcs", "rk4")
    steps = dice.randint(4, 40 if explicit else 12)
    time = {"scheme": scheme, "end": end_of(steps, spacing(grid)**2 / (9 * dims) * (1 if explicit else 20))}
    parameters = {"diffusivity": dice.choice((1, dice.number(0.2, 3), dice.positive(names),
                                              dice.array(files, "a", grid, 0.2, 3)))}
    if dice.chance(0.5):
        parameters["source"] = dice.choice((dice.number(-1, 1), dice.smooth(names), dice.smooth(names + ["t"]),
                                            dice.array(files, "f", grid)))
    if not explicit:
        time["step"] = end_of(1, time["end"] / steps)
        if scheme == "tr_bdf2" and dice.chance(0.4):
            time.update(step="adaptive", tolerance=1e-4)
        if dice.chance(0.6):
            parameters["solver"] = "multigrid"
    config = config_in_time(dice, "heat", grid, time, steps, parameters=parameters,
                            initial={"u": dice.first_values(files, "u", grid)},
                            boundary=dice.sides(grid, (("dirichlet", True), ("neumann", True)),
                                                dice.value_on_side(grid, dice.chance(0.4))))
    bound = rounding_of_steps(config, 4 * steps) + (0 if explicit else of_solves(config, steps))
    if time.get("step") == "adaptive":
        bound += 100 * time["tolerance"]  # where an error is as large as it may be, other steps may be tried
    changes, rows = [{"kernels": {"evaluate": "reference"}}], {"evaluate": FORMULAS}
    if explicit:
        changes += [{"kernels": {"stencil": "reference"}}, {"kernels": {"fused_steps": dice.randint(1, 2)}},
                    {"limits": {"trip_steps": dice.randint(1, 4)}}]
        rows["stencil"] = ("naive", "shared", "register_queue", "temporal", "resident")
    ranks = dice.parts(grid, explicit) if explicit or dims > 1 else []
    return Case(config, files, ranks, changes, rows, bound=bound)


def wave(dice):
    order = dice.choice((2, 4, 6, 8))
    grid, files = dice.grid(order + 2), {}
    dims, names = len(grid["points"]), axes(grid)
    steps = dice.randint(4, 40)
    time = {"end": end_of(steps, 0.2 * spacing(grid))}
    speed = dice.choice((1, dice.number(0, 1.5), f"0.3*({dice.positive(names)})", dice.array(files, "c", grid, 0, 1.5)))
    parameters = {"speed": speed, "order": order}
    if dice.chance(0.4):
        parameters["source"] = dice.smooth(names + ["t"])
    if dice.chance(0.3):
        parameters["initial_velocity"] = dice.choice((dice.smooth(names), dice.array(files, "w", grid)))
    if dice.chance(0.3):
        parameters["ricker"] = [{"at": dice.point(grid), "frequency": dice.number(1, 9, 1)}]
    boundary = dice.sides(grid, [("fixed", False), ("free", False)] + [("absorbing", False)] * (min(grid["points"]) > 16))
    if "absorbing" in str(boundary):
        parameters["absorbing"] = {"thickness": dice.randint(1, 6), "strength": dice.number(0, 0.5, 2)}
    config = config_in_time(dice, "wave", grid, time, steps, parameters=parameters, boundary=boundary,
                            initial={"u": dice.first_values(files, "u", grid)})
    changes = [{"kernels": {"star": "reference"}}, {"limits": {"trip_steps": dice.randint(1, 4)}}]
    if dims == 2:
        changes.append({"kernels": {"fused_steps": dice.randint(1, 2)}})
    # A rounding of u_tt goes on as a velocity: to a height that grows with the steps.
    return Case(config, files, dice.parts(grid), changes, {"star": ("naive", "register_queue", "temporal")},
                bound=rounding_of_steps(config, steps * steps))


def advection(dice):
    grid, files = dice.grid(6), {}
    names = axes(grid)
    steps = dice.randint(4, 30)
    time = {"scheme": dice.choice(("weno5", "lax_wendroff", "upwind")), "end": end_of(steps, 0.1 * spacing(grid))}
    kinds = (dice.number(-1, 1), dice.smooth(names), dice.smooth(names + ["t"]), dice.array(files, "v", grid))
    velocity = {axis: dice.choice(kinds) for axis in dice.sample(names, dice.randint(1, len(names)))}
    config = config_in_time(dice, "advection", grid, time, steps, parameters={"velocity": velocity},
                            initial={"u": dice.first_values(files, "u", grid)},
                            boundary=dice.sides(grid, (("dirichlet", True), ("outflow", False)),
                                                dice.value_on_side(grid, dice.chance(0.4))))
    # Of fluxes with parts that go up and down `naive` adds these before it takes differences, `streaming` after it.
    rows = ("streaming",) if time["scheme"] == "weno5" else ("naive", "streaming")
    return Case(config, files, dice.parts(grid), [{"kernels": {"advect": "reference"}}],
                {"advect": rows, "evaluate": FORMULAS}, bound=rounding_of_steps(config, 8 * steps))


# --- pde -------------------------------------------------------------------------------------------

EXPLICIT = ("rk4", "rk45", "ssprk3", "ssprk2", "euler")


def reactions(dice, fields, names, explicit):
    """What a field's rate has beside its diffusion: nothing that lets it grow without bound."""
    u, other = fields[0], fields[-1]
    kinds = [f"{dice.number(-1, 1)}*{u}", f"-{u}^3", f"{dice.number(-1, 1)}*{other}/(1 + {other}^2)",
             dice.smooth(names), f"{dice.number(-0.5, 0.5)}*cos({other})", f"exp(-{u}^2)",
             f"{dice.number(-1, 1)}*sin(9*t)*{dice.wave(dice.choice(names))}", "r"]
    if explicit:  # implicit schemes refuse what turns and is hardly damped
        kinds += [f"{dice.number(-0.3, 0.3)}*sin({u})*d_d{dice.choice(names)}({u})",
                  f"-{dice.number(0.1, 0.5)}*mean({u}^2)*{u}"]
    return dice.sample(kinds, dice.randint(0, 3))


def diffusing(dice, files, grid, names, explicit):
    """One or two fields that diffuse and react; the sections of a config."""
    fields = ["u", "v"][:dice.randint(1, 2)]
    equations = {}
    for field in fields:
        diffusion = dice.choice((f"div(0.02*({dice.positive(names)})*grad({field}))",
                                 f"{dice.number(0.01, 0.09)}*laplace({field})"))
        others = [field] + [name for name in fields if name != field]
        equations[field] = " + ".join([diffusion] + reactions(dice, others, names, explicit))
    kinds = [("dirichlet", True), ("neumann", True)] + [("outflow", False)] * explicit
    sections = {"equations": equations, "let": {"r": f"u/(1 + u^2)*({dice.wave(names[0])})"},
                "boundary": dice.sides(grid, kinds, dice.value_on_side(grid, dice.chance(0.4))),
                "initial": {field: dice.first_values(files, field, grid) for field in fields}}
    if not any(equation.endswith("r") or " r " in equation for equation in equations.values()):
        del sections["let"]
    if explicit and dice.chance(0.3):
        sections["space"] = {"order": dice.choice((4, 6))}
    if not explicit:
        sections["implicit"] = {"solver": "multigrid"}
    return sections


def carried(dice, grid, names):
    """What a flow carries, by differences that look where it comes from."""
    flux = ", ".join(dice.choice((f"{dice.number(-0.4, 0.4)}*u", f"{dice.number(-0.2, 0.2)}*u^2/(1 + u^2)",
                                  f"({dice.wave(dice.choice(names))})*u/4")) for _ in names)
    return {"equations": {"u": f"-div([{flux}])"}, "space": {"convection": dice.choice(("upwind", "weno5"))},
            "boundary": dice.sides(grid, (("dirichlet", True), ("outflow", False)), dice.value_on_side(grid)),
            "initial": {"u": f"s*({dice.smooth(names)})"}}


def waves(dice, grid, names):
    """A field of second order in time, or two that turn into each other."""
    sides = dice.sides(grid, (("dirichlet", True), ("neumann", True)), lambda axis: 0, ("periodic", "antiperiodic"))
    if dice.chance(0.5):
        damped = dice.choice(("", " - 0.3*u_t", " - u^3"))
        return {"equations": {"u": f"0.05*laplace(u){damped}"}, "fields": {"u": {"order": 2}}, "boundary": sides,
                "initial": {"u": f"s*({dice.smooth(names)})", "u_t": 0}}
    return {"equations": {"h": "-div(q)", "q": "-0.05*grad(h)"}, "fields": {"q": "vector"},
            "boundary": dice.sides(grid, (("wall", False),)),
            "initial": {"h": f"s*({dice.smooth(names)})", "q": {axis: dice.smooth(names) for axis in names}}}


def pde(dice):
    grid, files = dice.grid(8, with_levels=True), {}
    dims, names = len(grid["points"]), axes(grid)
    kind = dice.choice(("explicit", "explicit", "implicit", "implicit", "carried" if dims > 1 else "waves", "waves"))
    explicit = kind != "implicit"
    steps = dice.randint(4, 25 if explicit else 12)
    longest = min(spacing(grid)**2 / (0.2 * dims), 0.02)
    time = {"scheme": dice.choice(EXPLICIT), "end": end_of(steps, longest * (0.5 if explicit else 6))}
    if kind == "implicit":
        time.update(scheme=dice.choice(("imex_euler", "imex_bdf2", "ark3")), step=end_of(1, time["end"] / steps))
    if kind in ("waves", "carried"):
        time.update(scheme="rk4" if kind == "waves" else "ssprk3", end=end_of(steps, 0.2 * spacing(grid)))
    if time["scheme"] in ("rk45", "ark3") and dice.chance(0.4):
        time.update(step="adaptive", tolerance=1e-4)
    sections = (carried(dice, grid, names) if kind == "carried" else waves(dice, grid, names) if kind == "waves"
                else diffusing(dice, files, grid, names, explicit))
    config = config_in_time(dice, "pde", grid, time, steps, **sections)
    field = next(iter(sections["equations"]))
    config["diagnostics"] = dice.diagnostics(grid, field)
    if dice.chance(0.2):
        config["events"] = [{"at": end_of(1, time["end"] * dice.number(0.2, 0.9)), "set": {field: f"{field}/2 + x"}}]
    if dice.chance(0.2):
        config["output"]["derived"] = {"w": dice.choice((f"{field}^2", f"laplace({field})", f"dt({field})",
                                                         f"{field}*x - mean({field})"))}
    if dice.chance(0.1):
        config["stop"] = {"when": f"t > {time['end'] / 2}"}
    bound = rounding_of_steps(config, 32 * steps) + (0 if explicit else of_solves(config, steps))
    if time.get("step") == "adaptive":
        bound += 100 * time["tolerance"]
    if "derived" in config["output"]:  # second differences of roundings
        bound /= min(1, spacing(grid))**2 / 4
    several = explicit and not any(word in str(config) for word in ("mean", "stop"))
    changes = [{"kernels": {"system": "reference"}}, {"kernels": {"evaluate": "reference"}}]
    rows = {"system": ("interpreter", "points", "planes", "march")}
    return Case(config, files, dice.parts(grid, several) if dims > 1 or explicit else [], changes, rows, bound=bound)
