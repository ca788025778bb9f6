import type { GoModule } from './go-module.ts'

/**
 * gVisor: newest version of its branch for Go modules on 2026-11-29. Building it takes six minutes of CPU time. `runsc` is
 * unchanged. The shim of containerd also starts where root has no CAP_SYS_RESOURCE, and may not protect it from the OOM killer.
 */
export const GVISOR = {
  module: 'gvisor.dev/gvisor',
  version: 'v0.0.0-20260905035102-160fafc42237',
  programs: { runsc: './runsc', 'gvisor-shim': './shim' },
  changes: [
    {
      file: 'pkg/shim/v1/manager.go',
      from: 'sys.SetOOMScore(cmd.Process.Pid, oomScoreMax); err != nil {',
      to: 'sys.SetOOMScore(cmd.Process.Pid, oomScoreMax); err != nil && !os.IsPermission(err) {',
    },
  ],
} as const satisfies GoModule
