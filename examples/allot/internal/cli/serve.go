package cli

import (
	"fmt"
	"net"
	"net/netip"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/allotsched/allot/examples/allot/internal/web"
)

func serveCommand(s *Session) *cobra.Command {
	var listen string
	var hosts []string
	cmd := &cobra.Command{
		Use:   "serve [FILE|FOLDER]",
		Short: "a small web server on a state or a folder of them: report, why, what if, versions",
		Long: `A small web server on a state, or on a folder whose files are a state each, the newest
the last by name: the report, the picture, why a workload waits and what would help it,
what changes would do, and how it has gone over the versions. A file that changes is read
anew. The server only reads, and by default only this machine reaches it.

  allot serve states/
  allot serve -listen 0.0.0.0:8420 -host gpus.example.com states/

There is no login: give it another address only where whoever reaches it may see the state.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := s.one(args)
			if err != nil {
				return err
			}
			host, _, err := net.SplitHostPort(listen)
			if err != nil {
				return usagef("-listen: %v", err)
			}
			for i := range hosts {
				hosts[i] = strings.ToLower(hosts[i])
			}
			server, err := web.New(path, hosts)
			if err != nil {
				return err
			}
			debug.SetMemoryLimit(web.Collect)
			if err := server.First(cmd.Context()); err != nil {
				return err
			}
			l, err := net.Listen("tcp", listen)
			if err != nil {
				return err
			}
			if ip, err := netip.ParseAddr(host); host != "localhost" && (err != nil || !ip.IsLoopback()) {
				fmt.Fprintln(s.Stderr, "allot: whoever reaches", l.Addr(), "can see the state")
			}
			fmt.Fprintf(s.Stdout, "http://%s/\n", l.Addr())
			return server.Listen(cmd.Context(), l)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&listen, "listen", "127.0.0.1:8420", "the `address` to answer at; port 0 is any that is free")
	flags.StringArrayVar(&hosts, "host", nil, "a further `name` that browsers may call the server by")
	return cmd
}
