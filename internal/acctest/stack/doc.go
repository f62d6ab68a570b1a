// Package stack starts and stops the real servers that the acceptance tests,
// the benchmarks and the demonstration talk to: ZooKeeper, a Fluss coordinator,
// one to three Fluss tablet servers with the Paimon lake plugin, and on request
// Flink (job manager, task manager, SQL gateway) and Fluss's tiering service.
//
// The parts are the released jars of artifacts.txt, fetched once through Maven
// and pip into a cache and verified by checksum, or those of another build
// (Options.Libs). Everything a stack writes is in one folder:
//
//	stack.json   what runs, where, and under which process IDs
//	conf/        one folder of settings a process
//	logs/        one log a process
//	data/        ZooKeeper's and the servers' data; remote/ their remote data
//	warehouse/   the Paimon warehouse, unless one is given
//	tmp/         the processes' temporary files
//
// A server counts as started when it answers a request, never after a pause.
// A process is ended only if both its ID and its start time are the recorded
// ones. The package needs a Unix system; on Linux the processes of a test can
// be tied to the test's life (Options.DieWithParent).
package stack
