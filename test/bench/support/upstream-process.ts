import { end, type Served, serve } from '../../support/processes.ts'
import { issueTestCertificates } from './certificates.ts'

/** What reached the upstream since it was started, and how much of it carried the injected credential. */
export type Saw = { readonly requests: number; readonly withCredential: number }

export type UpstreamProcess = {
  readonly port: number
  saw(): Promise<Saw>
  stop(): Promise<void>
}

export async function startUpstream(files: {
  readonly keyFile: string
  readonly certFile: string
}): Promise<UpstreamProcess> {
  const served = await serve(new URL('./upstream.ts', import.meta.url).pathname, {
    KEY_FILE: files.keyFile,
    CERT_FILE: files.certFile,
  })
  return { port: served.port, saw: () => stats(served), stop: () => end(served.child) }
}

/** An upstream with the right names whose certificate nobody has reason to trust. */
export async function startImpostor(folder: string): Promise<UpstreamProcess> {
  return startUpstream(await issueTestCertificates(folder, UPSTREAM_NAMES))
}

/** The address is among the names, because some proxies can only check what they dial. */
export const UPSTREAM_NAMES = ['api.openai.com', '*.bench.example', 'files.bench.test', '127.0.0.1'] as const

function stats({ child }: Served): Promise<Saw> {
  return new Promise((resolve) => {
    const onMessage = (message: { type: string } & Saw): void => {
      if (message.type !== 'stats') return
      child.off('message', onMessage)
      resolve({ requests: message.requests, withCredential: message.withCredential })
    }
    child.on('message', onMessage)
    child.send('stats')
  })
}
