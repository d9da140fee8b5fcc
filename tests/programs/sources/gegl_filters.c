// A blurred, pixelated picture by GEGL, as programs that use it turn OpenCL on.
#include <gegl.h>
#include <stdio.h>

int main(int argc, char** argv) {
  gegl_init(&argc, &argv);
  g_object_set(gegl_config(), "use-opencl", TRUE, NULL);
  GeglNode* graph = gegl_node_new();
  GeglNode* board = gegl_node_new_child(graph, "operation", "gegl:checkerboard", "x", 16, "y", 16, NULL);
  GeglNode* crop = gegl_node_new_child(graph, "operation", "gegl:crop", "width", 512.0, "height", 512.0, NULL);
  GeglNode* blur = gegl_node_new_child(graph, "operation", "gegl:box-blur", "radius", 5, NULL);
  GeglNode* levels = gegl_node_new_child(graph, "operation", "gegl:levels", "in-low", 0.1, "in-high", 0.8, NULL);
  GeglNode* squares = gegl_node_new_child(graph, "operation", "gegl:pixelize", "size-x", 8, "size-y", 8, NULL);
  gegl_node_link_many(board, crop, blur, levels, squares, NULL);
  static guchar pixels[512 * 512 * 4];
  const GeglRectangle all = {0, 0, 512, 512};
  gegl_node_blit(squares, 1.0, &all, babl_format("R'G'B'A u8"), pixels, GEGL_AUTO_ROWSTRIDE, GEGL_BLIT_DEFAULT);
  unsigned long sum = 0;
  for (size_t i = 0; i < sizeof pixels; ++i) sum = sum * 31 + pixels[i];
  gboolean uses_opencl = FALSE;
  g_object_get(gegl_config(), "use-opencl", &uses_opencl, NULL);
  printf("%d %lx\n", uses_opencl, sum);
  g_object_unref(graph);
  gegl_exit();
  return 0;
}
