// Package openb is what the programs have in common that read Alibaba's
// cluster-trace-gpu-v2023 (openb): its node and pod lists as CSV, plain or gzipped,
// and the tables of shapes and counts that are shipped in their place.
package openb
