-- older_store.sql - a run store as clshell wrote it before its columns came
-- from the table of fields: the dump of its file, for store.lua
PRAGMA application_id = 1129075528;
PRAGMA user_version = 1;
CREATE TABLE run (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  uid TEXT NOT NULL UNIQUE DEFAULT (lower(hex(randomblob(16)))),
  time TEXT NOT NULL,
  tag TEXT, name TEXT, family TEXT, kernel TEXT, config TEXT, title TEXT,
  type TEXT, mode TEXT, status TEXT, params TEXT, shape TEXT,
  device TEXT, driver TEXT, source_hash TEXT, options TEXT, protocol INTEGER,
  median REAL,
  record TEXT NOT NULL,
  samples TEXT);
INSERT INTO run VALUES(1,'0123456789abcdef0123456789abcdef','2026-11-01T10:00:00Z','v1','gemm.tiled','gemm','tiled','tile=16','64x64x64 float','float','hot','ok','{"tile":16}','{"k":64,"m":64,"n":64}','Some GPU','1.2','00ff','-cl-mad-enable',1,0.0020000000000000000416,'{"bytes":49152,"config":"tile=16","device":{"driver":"1.2","name":"Some GPU","platform":"Some CL"},"family":"gemm","flags":{},"flop":524288,"hi":0.0021,"kernel":"tiled","lo":0.0019,"max":0.0022,"median":0.002,"min":0.0018,"mode":"hot","n":3,"name":"gemm.tiled","ok":true,"options":"-cl-mad-enable","params":{"tile":16},"protocol":1,"shape":{"k":64,"m":64,"n":64},"source_hash":"00ff","status":"ok","tag":"v1","time":"2026-11-01T10:00:00Z","timer":"event","title":"64x64x64 float","type":"float"}','[0.0018,0.002,0.0022]');
INSERT INTO run VALUES(2,'fedcba9876543210fedcba9876543210','2026-11-02T10:00:00Z',NULL,'gemm.naive','gemm','naive',NULL,NULL,NULL,NULL,'refused',NULL,NULL,'Some GPU','1.2',NULL,NULL,NULL,NULL,'{"device":{"driver":"1.2","name":"Some GPU"},"family":"gemm","final":true,"kernel":"naive","name":"gemm.naive","note":"it''s refused","ok":false,"setting":"5e77","status":"refused","time":"2026-11-02T10:00:00Z"}',NULL);
CREATE TABLE note (key TEXT PRIMARY KEY, words TEXT NOT NULL);
INSERT INTO note VALUES('a search','words');
CREATE INDEX run_name ON run (name, device, time);
CREATE INDEX run_tag ON run (tag);
CREATE INDEX run_time ON run (time);
