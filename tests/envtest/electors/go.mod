module signalbox.test/elector

go 1.24.0

require (
	golang.org/x/sys v0.31.0
	k8s.io/apimachinery v0.34.4
	k8s.io/client-go v0.34.4
)
