import { randomBytes } from 'node:crypto'
import { ChaperoneError } from '../../../core/errors.ts'
import { kubeApiOf } from '../../config.ts'
import { createKeyring } from '../../crypto/keyring.ts'
import { type MasterKeys, parseMasterKeys } from '../../crypto/master-keys.ts'
import { createServerCa } from '../../crypto/server-certificate.ts'
import { randomToken } from '../../crypto/tokens.ts'
import { type Command, EXIT, type Invocation, text } from '../command.ts'
import { type KubeApi, withKubeApi } from './kube-api.ts'
import {
  DEFAULT_PUBLIC_URL,
  ensureOwnerLink,
  OWNER_LINK_SECRET,
  PUBLIC_URL_KEY,
} from './owner-link-secret.ts'

export const clusterSetup: Command = {
  name: 'cluster-setup',
  summary: 'Create the keys of an installation in a cluster; run by the Helm chart',
  usage: ['cluster-setup [--secret NAME] [--ca-configmap NAME]'],
  details:
    'Runs in a pod whose ServiceAccount can get and create Secrets and patch the ConfigMap in its namespace (POD_NAMESPACE). Does not\n' +
    'change an existing Secret, because stored data is encrypted with its key. The Secret chaperone-owner-link contains the link with\n' +
    'which the first owner registers within an hour (PUBLIC_URL is the address of the link).',
  options: {
    secret: { type: 'string', value: 'NAME', help: 'Secret with the keys (default chaperone-keys)' },
    'ca-configmap': {
      type: 'string',
      value: 'NAME',
      help: 'ConfigMap with the CA of the control plane (default chaperone-control-plane-authority)',
    },
  },
  examples: [['chaperone cluster-setup', 'create the keys; run by a job of the chart']],
  run,
}

async function run(invocation: Invocation): Promise<number> {
  const namespace = invocation.env['POD_NAMESPACE'] ?? ''
  const kube = kubeApiOf(invocation.env)
  if (namespace === '' || kube === null) {
    throw new ChaperoneError('validation', {
      detail:
        'cluster-setup does not know its namespace or the address of the API server, because it does not run in a pod of the chart. Set POD_NAMESPACE, and outside of a pod also KUBE_API_URL.',
    })
  }
  const secret = text(invocation, 'secret') ?? 'chaperone-keys'
  const configMap = text(invocation, 'ca-configmap') ?? 'chaperone-control-plane-authority'
  const publicUrl = invocation.env['PUBLIC_URL'] || DEFAULT_PUBLIC_URL
  const { isNew, masterKeys, hasNewLink } = await withKubeApi(kube, async (api) => {
    const keys = await ensureKeys(api, namespace, secret)
    await publishCa(api, { namespace, name: configMap, masterKeys: keys.masterKeys, publicUrl })
    return { ...keys, hasNewLink: await ensureOwnerLink(api, namespace, publicUrl) }
  })
  invocation.terminal.print(
    `${isNew ? 'created' : 'kept'} Secret ${namespace}/${secret} (${masterKeys.keys.length === 1 ? 'one master key' : `${masterKeys.keys.length} master keys`})`,
  )
  invocation.terminal.print(`published ConfigMap ${namespace}/${configMap}`)
  invocation.terminal.print(`${hasNewLink ? 'created' : 'kept'} Secret ${namespace}/${OWNER_LINK_SECRET}`)
  return EXIT.ok
}

/** Required entries of the installation's Secret. The pods mount each entry as a file. */
const KEYS = ['master.key', 'admin.token', 'maintenance.secret'] as const

async function ensureKeys(
  api: KubeApi,
  namespace: string,
  name: string,
): Promise<{ readonly isNew: boolean; readonly masterKeys: MasterKeys }> {
  const path = `/api/v1/namespaces/${namespace}/secrets`
  const found = await api.call('GET', `${path}/${name}`)
  if (found !== null) return { isNew: false, masterKeys: readMasterKeys(found, `${namespace}/${name}`) }
  const stringData = Object.fromEntries(
    KEYS.map((key) => [key, key === 'master.key' ? randomBytes(32).toString('base64') : randomToken()]),
  )
  const made = await api.call('POST', path, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, labels: { 'app.kubernetes.io/part-of': 'chaperone' } },
    type: 'Opaque',
    stringData,
  })
  return { isNew: true, masterKeys: readMasterKeys(made, `${namespace}/${name}`) }
}

function readMasterKeys(secret: unknown, name: string): MasterKeys {
  const data = (secret as { readonly data?: Readonly<Record<string, string>> }).data ?? {}
  const missing = KEYS.filter((key) => (data[key] ?? '') === '')
  if (missing.length > 0) {
    throw new ChaperoneError('conflict', {
      detail: `Secret ${name} has no ${missing.join(', ')}. Add the missing keys to the Secret. If the installation has no data, delete the Secret and run cluster-setup again, which creates the Secret.`,
    })
  }
  return parseMasterKeys(Buffer.from(data['master.key'] ?? '', 'base64').toString('utf8'), `Secret ${name}`)
}

async function publishCa(
  api: KubeApi,
  given: {
    readonly namespace: string
    readonly name: string
    readonly masterKeys: MasterKeys
    readonly publicUrl: string
  },
): Promise<void> {
  const { namespace, name, masterKeys, publicUrl } = given
  const { caPem } = createServerCa(createKeyring(masterKeys), Date.now())
  await api.call(
    'PATCH',
    `/api/v1/namespaces/${namespace}/configmaps/${name}?fieldManager=chaperone-setup&force=true`,
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name, namespace, labels: { 'app.kubernetes.io/part-of': 'chaperone' } },
      data: { 'ca.crt': caPem, [PUBLIC_URL_KEY]: publicUrl },
    },
  )
}
