// finds: outside 5, guard
// range: 16 / 16
// args: int 8
kernel void f(global int *x) {
  atomic_inc(&x[get_global_id(0)]);
}
