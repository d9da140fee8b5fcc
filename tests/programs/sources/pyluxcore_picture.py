"""A picture of a sphere, by LuxCore's path tracer on OpenCL."""

import time

import numpy as np
import pyluxcore


def main() -> None:
    pyluxcore.Init()
    scene = pyluxcore.Scene()
    properties = pyluxcore.Properties()
    properties.SetFromString("""
scene.camera.type = "perspective"
scene.camera.lookat.orig = 0 -4 1
scene.camera.lookat.target = 0 0 0
scene.materials.white.type = "matte"
scene.materials.white.kd = 0.7 0.5 0.3
scene.lights.sky.type = "constantinfinite"
scene.lights.sky.color = 1 1 1
""")
    scene.Parse(properties)
    corners = [(-1.0, -1.0, 0.0), (1.0, -1.0, 0.0), (1.0, 1.0, 0.0), (-1.0, 1.0, 0.5)]
    scene.DefineMesh("square", corners, [(0, 1, 2), (2, 3, 0)], None, None, None, None)
    scene.Parse(
        pyluxcore.Properties().SetFromString(
            "scene.objects.square.material = white\nscene.objects.square.shape = square"
        )
    )
    config = pyluxcore.Properties().SetFromString("""
renderengine.type = "PATHOCL"
sampler.type = "SOBOL"
film.width = 64
film.height = 64
opencl.cpu.use = 1
opencl.gpu.use = 1
opencl.native.threads.count = 0
batch.haltspp = 16
film.outputs.0.type = "RGB_IMAGEPIPELINE"
film.outputs.0.filename = "square.png"
""")
    session = pyluxcore.RenderSession(pyluxcore.RenderConfig(config, scene))
    begin = time.perf_counter()
    session.Start()
    while not session.HasDone():
        time.sleep(0.05)
        session.UpdateStats()
    session.Stop()
    print(f"seconds: {time.perf_counter() - begin}")
    film = np.zeros((64, 64, 3), np.float32)
    session.GetFilm().GetOutputFloat(pyluxcore.FilmOutputType.RGB_IMAGEPIPELINE, film, 0)
    print(f"{film.mean():.2g}")


main()
