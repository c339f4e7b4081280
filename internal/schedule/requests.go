package schedule

import "sync"

// Requests are the jobs that somebody wants run now. A nil *Requests has none.
// It is safe for concurrent use.
type Requests struct {
	mu    sync.Mutex
	asked map[string]bool
	wake  chan struct{}
}

// NewRequests returns requests without any.
func NewRequests() *Requests {
	return &Requests{asked: map[string]bool{}, wake: make(chan struct{}, 1)}
}

// Ask has jobs run as soon as the one under way is done. A job that waits already
// runs once; one that is under way runs again.
func (r *Requests) Ask(jobs ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, job := range jobs {
		r.asked[job] = true
	}
	select {
	case r.wake <- struct{}{}:
	default: // it will wake anyway
	}
}

// take says whether a job is asked for, and from then on it is not.
func (r *Requests) take(job string) bool {
	if r == nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	asked := r.asked[job]
	delete(r.asked, job)
	return asked
}

// woken is ready when something was asked for.
func (r *Requests) woken() <-chan struct{} {
	if r == nil {
		return nil
	}
	return r.wake
}
