"""Programs and libraries of Debian: what they are, how they are run and checked."""

from entry import Program

DEBIAN = [
    Program(
        "clinfo",
        "lists devices and what they can",
        "clinfo",
        debian=("clinfo",),
        check="own",
        says=r"Max work group size",
        idle=True,
        two="clinfo",
        short=True,
    ),
    Program(
        "clpeak",
        "bandwidths and latency of a device",
        "clpeak --kernel-latency --global-bandwidth",
        debian=("clpeak",),
        check="own",
        says=r"Kernel launch latency : [\d.]+ us",
    ),
    Program(
        "hashcat",
        "finds a password by its MD5",
        "hashcat -m 0 -a 3 -D 1,2 --backend-ignore-cuda --potfile-disable --logfile-disable --quiet"
        " $(printf 84619 | md5sum | cut -c1-32) '?d?d?d?d?d'",
        debian=("hashcat",),
        says=":84619",
        two="hashcat -m 0 -a 3 -D 1,2 --backend-ignore-cuda --potfile-disable --logfile-disable --quiet"
        " $(printf 84619 | md5sum | cut -c1-32) '?d?d?d?d?d'",
    ),
    Program(
        "clblast",
        "CLBlast's test of one routine",
        "clblast_test_xaxpy -platform 0 -device 0",
        debian=("clblast-tests",),
        check="own",
        says=r"passed",
    ),
    Program(
        "clfft",
        "clFFT's client, which checks itself",
        "clFFT-client -x 64 -y 64 -b 4 -p 20",
        debian=("clfft-client",),
        check="own",
        says=r"Execution wall time|Passed",
    ),
    Program(
        "ffmpeg-blur",
        "blurs and sharpens a video",
        "ffmpeg -v error -init_hw_device opencl=ocl -filter_hw_device ocl"
        " -f lavfi -i testsrc2=size=320x240:rate=10:duration=5"
        " -vf format=yuv420p,hwupload,avgblur_opencl=sizeX=3,unsharp_opencl,hwdownload,format=yuv420p -f framemd5 -",
        debian=("ffmpeg",),
        short=True,
    ),
    Program(
        "ffmpeg-denoise",
        "removes a video's noise by non-local means",
        "ffmpeg -v error -init_hw_device opencl=ocl -filter_hw_device ocl"
        " -f lavfi -i testsrc2=size=160x120:rate=5:duration=2"
        " -vf format=yuv420p,hwupload,nlmeans_opencl,hwdownload,format=yuv420p -f framemd5 -",
        debian=("ffmpeg",),
    ),
    Program(
        "gegl",
        "a blurred and pixelated picture",
        "GEGL_USE_OPENCL=${DEVICE_TYPE,,} $BUILT/gegl_filters",
        debian=("libgegl-dev",),
        build="gcc -O1 -w -o $BUILT/gegl_filters $SOURCES/gegl_filters.c $(pkg-config --cflags --libs gegl-0.4)",
        says="^1 ",
    ),
    Program(
        "darktable",
        "darktable's look at devices",
        "darktable-cltest",
        debian=("darktable",),
        check="own",
        says="opencl is AVAILABLE",
        idle=True,
    ),
    Program(
        "starpu",
        "StarPU's tasks on OpenCL devices alone",
        "/usr/lib/x86_64-linux-gnu/starpu/examples/vector_scal 2>&1",
        debian=("starpu-examples",),
        settings={"STARPU_NCPU": "0", "STARPU_OPENCL_ON_CPUS": "1", "STARPU_SILENT": "1"},
        says="Computation is correct",
        check="own",
    ),
    Program(
        "asl",
        "ASL's list of devices",
        "asl-hardware",
        debian=("asl-tools",),
        check="own",
        says="OpenCL driver version",
        idle=True,
    ),
    Program(
        "hwloc",
        "OpenCL devices in a machine's topology",
        "lstopo-no-graphics --only osdev",
        debian=("hwloc", "libhwloc-plugins"),
        says="opencl",
        check="own",
        idle=True,
    ),
    Program(
        "ufo",
        "a transform of pictures there and back, by the UFO framework",
        "UFO_DEVICE_TYPE=${DEVICE_TYPE,,} ufo-launch -q dummy-data width=64 height=64 number=2 init=3"
        " ! fft dimensions=2 ! ifft dimensions=2 ! write filename=out.tif; md5sum out.tif",
        debian=("libufo-bin", "ufo-filters"),
        says="out.tif",
        ignore="^Finished",
    ),
    Program(
        "hcxkeys",
        "the keys of wireless networks from passwords",
        "seq 10000000 10000400 >words; wlangenpmkocl -e network -i words -a keys >&2; md5sum keys",
        debian=("hcxkeys",),
        says="keys",
        short=True,
    ),
    Program(
        "pyopencl-examples",
        "examples of Debian's PyOpenCL",
        "cd /usr/share/doc/python-pyopencl-doc/examples; for name in demo demo_array demo_elementwise"
        " demo_elementwise_complex demo_meta_template demo-struct-reduce; do"
        " PYOPENCL_CTX=0 /usr/bin/python3 $name.py >$HOME/printed || exit; echo $name; done",
        debian=("python-pyopencl-doc", "python3-pyopencl", "python3-mako"),
    ),
    Program(
        "viennacl",
        "conjugate gradients and a matrix product",
        "$BUILT/viennacl_solvers",
        debian=("libviennacl-dev",),
        build="g++ -O1 -w -o $BUILT/viennacl_solvers $SOURCES/viennacl_solvers.cpp -lOpenCL 2>/dev/null",
        short=True,
    ),
    Program(
        "boost-compute",
        "sorting, a scan and a reduction",
        "$BUILT/boost_compute_algorithms",
        debian=("libboost-dev",),
        build="g++ -O1 -w -o $BUILT/boost_compute_algorithms $SOURCES/boost_compute_algorithms.cpp -lOpenCL"
        " 2>/dev/null",
    ),
    Program(
        "vkfft",
        "VkFFT from C++",
        "$BUILT/vkfft_transform",
        debian=("libvkfft-dev",),
        build="g++ -O1 -w -o $BUILT/vkfft_transform $SOURCES/vkfft_transform.cpp -lOpenCL 2>/dev/null",
        short=True,
    ),
    Program(
        "opencl-clhpp",
        "Khronos' C++ bindings: kernels, a sub-buffer, a map",
        "$BUILT/cl_hpp_saxpy",
        debian=("opencl-clhpp-headers",),
        build="g++ -O1 -w -o $BUILT/cl_hpp_saxpy $SOURCES/cl_hpp_saxpy.cpp -lOpenCL 2>/dev/null",
    ),
    Program(
        "gpyfft",
        "clFFT from Python",
        "/usr/bin/python3 $SOURCES/gpyfft_transforms.py",
        debian=("python3-gpyfft",),
    ),
    Program(
        "dtcwt",
        "a dual-tree complex wavelet transform",
        "/usr/bin/python3 $SOURCES/dtcwt_wavelets.py",
        debian=("python3-dtcwt", "python3-pyopencl", "python3-six"),
        check="close",
    ),
    Program(
        "pysph",
        "a drop of particles",
        "/usr/bin/python3 $SOURCES/pysph_drop.py",
        debian=("python3-pysph", "python3-pyopencl", "python3-mako"),
        check="close",
        tolerance=1e-2,
        ignore="^(?!\\d+ )",
        limit_s=600,
    ),
]
