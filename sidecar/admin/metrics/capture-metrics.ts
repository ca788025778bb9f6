import type { CaptureState } from '../../capture/probe.ts'
import { type Exposition, labelText } from './exposition.ts'

/** State of the traffic capture of this process, a sidecar or a gateway outside of a pod. */
export type CaptureGauges = {
  /**
   * Result of the capture probe. Null where no redirect rules capture the traffic: outside of a pod, and with
   * `interception: proxyEnv`.
   */
  readonly state: CaptureState | null
  readonly isBypassDetected: boolean
}

const STATES = ['proven', 'unproven', 'bypassed', 'none'] as const satisfies ReadonlyArray<
  CaptureState | 'none'
>

export function writeCapture(out: Exposition, { state, isBypassDetected }: CaptureGauges): void {
  out.family(
    'svc_capture_state',
    'gauge',
    '1 for the present state of the traffic capture. In the state "none", there are no redirect rules.',
  )
  for (const each of STATES)
    out.sample('svc_capture_state', labelText({ state: each }), +(each === (state ?? 'none')))
  out.family('svc_bypass_detected', 'gauge', '1 while the sidecar detects a bypass of its capture.')
  out.sample('svc_bypass_detected', '', +isBypassDetected)
}
