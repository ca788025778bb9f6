import type { Exposition } from './exposition.ts'

/** Applied configuration, and the connection to the control plane. */
export type ConfigurationGauges = {
  /** Version of the applied configuration; null before the first snapshot. */
  readonly version: number | null
  /** Seconds since the connection to the control plane was lost (`Heartbeats.lostForMs`); 0 while it is connected. */
  readonly lostForSeconds: number
}

export function writeConfiguration(out: Exposition, { version, lostForSeconds }: ConfigurationGauges): void {
  out.family('svc_snapshot_version', 'gauge', 'Version of the configuration in force; 0 before the first.')
  out.sample('svc_snapshot_version', '', version ?? 0)
  out.family(
    'svc_control_plane_lost_seconds',
    'gauge',
    'Seconds since the control plane was lost; 0 while it is connected.',
  )
  out.sample('svc_control_plane_lost_seconds', '', lostForSeconds)
}
