// finds: race 5
// range: 16 / 16
// args: int 16, int 4
kernel void f(global const int *x, global int *count) {
  count[get_global_id(0) % 4]++;
}
