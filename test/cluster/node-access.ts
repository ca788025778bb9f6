import { inject } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { AGENTS } from './installation.ts'
import { apply, exec, get, kube } from './kubectl.ts'

const NAMESPACE = 'chaperone-test-node'
const POD = 'node-access'

export async function proxyUidOf(pod: string): Promise<number> {
  type Annotated = { readonly metadata: { readonly annotations: Readonly<Record<string, string>> } }
  const found = await get<Annotated>('pod', pod, AGENTS)
  return Number(found?.metadata.annotations['chaperone.dev/proxy-uid'])
}

/** Ends a proxy as a node that is short of memory would: no command of the cluster's API may. */
export async function killProxy(pod: string): Promise<void> {
  const uid = await proxyUidOf(pod)
  const image = inject('installation').environment.agentImage
  await apply(
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } },
    {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: POD, namespace: NAMESPACE },
      spec: {
        hostPID: true,
        terminationGracePeriodSeconds: 0,
        containers: [
          {
            ...{ name: 'agent', image, imagePullPolicy: 'IfNotPresent', command: ['sleep', 'infinity'] },
            securityContext: { privileged: true },
          },
        ],
      },
    },
  )
  await kube(['wait', `pod/${POD}`, '-n', NAMESPACE, '--for=condition=Ready', '--timeout=60s'])
  const program = `
import os
pids = [int(p) for p in os.listdir('/proc') if p.isdigit() and os.stat('/proc/' + p).st_uid == ${uid}]
for pid in pids: os.kill(pid, 9)
print(len(pids))
`
  try {
    await eventually('the proxy’s process is found', async () => {
      const { stdout } = await exec({ pod: POD, namespace: NAMESPACE }, ['python3', '-c', program])
      return Number(stdout) > 0 ? true : null
    })
  } finally {
    await kube(['delete', 'namespace', NAMESPACE, '--wait=false'])
  }
}
