import * as z from 'zod'
import { ChaperoneError } from '../../../core/errors.ts'
import { namedKeys } from '../backup/master-key.ts'
import { type KeyStore, type RotatedKey, rotateKeys } from '../keys/rotate-keys.ts'
import type { Kubectl } from './kubectl.ts'

const SECRET = 'chaperone-keys'
const ENTRY = 'master.key'
const DEPLOYMENT = 'deployment/chaperone-control-plane'
/** Milliseconds between two polls. The kubelet writes a changed Secret to the files of pods within about a minute. */
const POLL_MS = 2_000

const Status = z.object({
  sealing_key: z.string().nullable(),
  keys: z.array(z.string()),
  is_complete: z.boolean(),
  secrets: z.record(z.string(), z.number()),
  waiting_for: z.array(z.string()),
})

/**
 * Runs `chaperone keys status` in a pod of the control plane, which has access to the database and the keys. Returns
 * the output of the command.
 */
export function clusterKeyStatus(kubectl: Kubectl, system: string, json: boolean): Promise<string> {
  const command = [
    'node',
    '--disable-sigusr1',
    '/app/bin/cli.js',
    'keys',
    'status',
    ...(json ? ['--json'] : []),
  ]
  return kubectl.run('exec', '-n', system, DEPLOYMENT, '-c', 'control-plane', '--', ...command)
}

/**
 * Rotates the master key of the Secret `chaperone-keys`. The user of kubectl needs the rights `get` and `update` on
 * the Secret, and `create` on `pods/exec`. The control plane pods encrypt the stored secrets again.
 */
export function rotateClusterKey(
  kubectl: Kubectl,
  system: string,
  { print, pollMs = POLL_MS }: { readonly print: (line: string) => void; readonly pollMs?: number },
): Promise<RotatedKey> {
  const store = secretStore(kubectl, system)
  return rotateKeys({
    store,
    print,
    pollMs,
    async advance(text) {
      const { ids } = namedKeys(text, store.name)
      const status = Status.parse(JSON.parse(await clusterKeyStatus(kubectl, system, true)))
      // The key file in the pod may still have the former content of the Secret. Therefore, the rotation is complete
      // only if the newest key of the pod is the newest key of the Secret.
      return { ...status, keys: ids, is_complete: status.is_complete && status.keys.at(-1) === ids.at(-1) }
    },
  })
}

type Secret = { readonly data?: Readonly<Record<string, string>> }

function secretStore(kubectl: Kubectl, system: string): KeyStore {
  const name = `Secret ${system}/${SECRET}`
  const secret = async () => {
    const found = await kubectl.object<Secret>('secret', SECRET, '-n', system)
    if (found !== null) return found
    throw new ChaperoneError('not_found', {
      detail: `There is no ${name}. Give the namespace of the installation with --system-namespace.`,
    })
  }
  const textOf = ({ data }: Secret) => Buffer.from(data?.[ENTRY] ?? '', 'base64').toString('utf8')
  return {
    name,
    read: async () => textOf(await secret()),
    async replace({ before, after }) {
      const found = await secret()
      if (textOf(found) !== before)
        throw new ChaperoneError('conflict', {
          detail: `${name} was changed by another process. Run the command again.`,
        })
      const data = { ...found.data, [ENTRY]: Buffer.from(after).toString('base64') }
      // The object includes the resource version, so that the API server rejects the update if the Secret has changed
      // since it was read.
      await kubectl.input(JSON.stringify({ ...found, data }), 'replace', '-f', '-')
    },
  }
}
