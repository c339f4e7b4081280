package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/docseek/docseek/graphql/gateway"
)

const (
	// lookEvery is how often files are looked at where the system tells nothing of
	// their changes, as on network drives.
	lookEvery = 5 * time.Second
	// quietFor is how long nothing may happen in the folders before the files are
	// read: whoever writes several wants them read together.
	quietFor = 150 * time.Millisecond
	// maxWatched bounds the folders that the system is asked to tell of.
	maxWatched = 1000
)

// keepEndpoints keeps the schemas and operations of the endpoints fresh until
// ctx ends: by their polls, when files change, and on a hangup. What cannot be
// loaded is logged, and stays as it was.
func (a *app) keepEndpoints(ctx context.Context, g *gateway.Gateway, hangups <-chan os.Signal) {
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() { g.Run(ctx) })
	running.Go(func() { reloadOnHangup(ctx, g, hangups) })

	folders := a.watch()
	defer folders.close()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	quiet := time.NewTimer(0)
	defer quiet.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-folders.events():
			quiet.Reset(quietFor)
			continue
		case err := <-folders.errors():
			a.log.Debug("changes of files may have gone unheard", slog.Any("error", err))
			quiet.Reset(quietFor)
			continue
		case <-quiet.C:
		case <-look.C:
		}
		_ = g.Refresh(ctx)
		folders.follow(g.Folders())
	}
}

// hangups are the SIGHUPs of the process until they are stopped. A server without
// anything to read anew listens for them too: the signal would end it.
func hangups() (heard <-chan os.Signal, stop func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGHUP)
	return signals, func() { signal.Stop(signals) }
}

func reloadOnHangup(ctx context.Context, g *gateway.Gateway, hangups <-chan os.Signal) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangups:
			_ = g.Reload(ctx)
		}
	}
}

// watched are folders that the system tells of changes in. It is only sooner
// than looking: where there is none, or it fails, nothing is lost.
type watched struct {
	watcher *fsnotify.Watcher // nil where there is none
	log     *slog.Logger
}

func (a *app) watch() *watched {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		a.log.Info("changes of files are looked for, since the system does not tell of them",
			slog.Duration("every", lookEvery), slog.Any("error", err))
		return &watched{}
	}
	return &watched{watcher: watcher, log: a.log}
}

func (w *watched) events() <-chan fsnotify.Event {
	if w.watcher == nil {
		return nil
	}
	return w.watcher.Events
}

// errors have to be taken: the watcher tells of nothing more until they are.
func (w *watched) errors() <-chan error {
	if w.watcher == nil {
		return nil
	}
	return w.watcher.Errors
}

// follow watches these folders and no others. Those that are not there yet are
// found by looking.
func (w *watched) follow(folders []string) {
	if w.watcher == nil {
		return
	}
	folders = folders[:min(len(folders), maxWatched)]
	before := w.watcher.WatchList()
	for _, folder := range before {
		if !slices.Contains(folders, folder) {
			_ = w.watcher.Remove(folder) // it may be gone already
		}
	}
	for _, folder := range folders {
		if !slices.Contains(before, folder) {
			if err := w.watcher.Add(folder); err != nil {
				w.log.Debug("folder not watched", slog.String("folder", folder), slog.Any("error", err))
			}
		}
	}
}

func (w *watched) close() {
	if w.watcher != nil {
		_ = w.watcher.Close() // nothing was written
	}
}
