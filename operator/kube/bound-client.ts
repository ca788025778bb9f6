import type { KubeClient } from './client.ts'

/** Returns a client that aborts every call with the signal, so that no call outlives a leader term. */
export function boundTo(client: KubeClient, signal: AbortSignal): Pick<KubeClient, 'call'> {
  return {
    call: (call) => {
      const both = call.signal === undefined ? signal : AbortSignal.any([call.signal, signal])
      return client.call({ ...call, signal: both })
    },
  }
}
