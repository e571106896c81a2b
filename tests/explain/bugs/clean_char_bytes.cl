// finds: nothing
// range: 16 / 16
// args: char 16, uchar 16
kernel void f(global const char *x, global uchar *y) {
  int i = get_global_id(0);
  y[i] = convert_uchar(x[i]) ^ 0x55;
}
