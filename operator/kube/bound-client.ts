import type { KubeClient } from './client.ts'

/** The same API server, but every call ends when the signal is aborted: nothing of a term outlives it. */
export function boundTo(client: KubeClient, signal: AbortSignal): Pick<KubeClient, 'call'> {
  return {
    call: (call) => {
      const both = call.signal === undefined ? signal : AbortSignal.any([call.signal, signal])
      return client.call({ ...call, signal: both })
    },
  }
}
