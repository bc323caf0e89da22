// Package fairshare divides a capacity fairly among queues, exactly.
package fairshare
