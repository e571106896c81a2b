// finds: nothing
// range: 32 / 8
// args: int 32, int 4
kernel void f(global const int *x, global int *count) {
  atomic_inc(&count[x[get_global_id(0)] & 3]);
}
