/* A library has to have a source of its own; its room has the others. */
typedef int remotecl_nothing;
