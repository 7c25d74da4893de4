module signalbox.test/informer

go 1.24.0

require (
	k8s.io/apimachinery v0.34.4
	k8s.io/client-go v0.34.4
)
