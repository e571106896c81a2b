// finds: race 6
// range: 16 / 16
// args: char 64
kernel void f(global char4 *x) {
  int i = get_local_id(0);
  x[i / 2].s01 = (char2)(i, i);
}
