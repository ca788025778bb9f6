import { inject } from 'vitest'
import { AGENTS } from './installation.ts'
import { apply, exec, get, kube } from './kubectl.ts'

const POD = 'node-access'

/** What root of the node can do, and nobody by the cluster's API: faults, not attacks. */
export type NodeAccess = AsyncDisposable & {
  /** Ends a proxy as a node that is short of memory would. */
  killProxy(pod: string): Promise<void>
  /** Sends a signal on which Node by default opens its inspector. */
  askForInspector(pod: string): Promise<void>
  /** Takes the rules out of a pod's network. */
  dropRules(pod: string): Promise<void>
  /** Opens a UDP socket in the pod's network for 20 s, as a process that has the proxy's uid. */
  openSocketAsProxyUser(pod: string): Promise<void>
  /** Puts a seccomp profile where the kubelet of the node looks for it. */
  writeSeccompProfile(name: string, profile: object): Promise<void>
  /** What the proxy's process holds in memory, in MiB. */
  proxyMemoryMib(pod: string): Promise<number>
  /** Sends SIGUSR2 to every process of the node whose command line has the file `app/bin/FILE`. */
  moveClocks(file: 'operator.js' | 'controlplane.js' | 'sidecar.cjs'): Promise<void>
  /** What the larger of the operators' processes holds in memory, in MiB. */
  operatorMemoryMib(): Promise<number>
}

export async function proxyUidOf(pod: string): Promise<number> {
  type Annotated = { readonly metadata: { readonly annotations: Readonly<Record<string, string>> } }
  const found = await get<Annotated>('pod', pod, AGENTS)
  return Number(found?.metadata.annotations['chaperone.dev/proxy-uid'])
}

/** `file`: name of the test file, because another file may have a pod of its own at the same time. */
export async function openNode(file: string): Promise<NodeAccess> {
  const namespace = `chaperone-test-node-${file}`
  const place = { pod: POD, namespace }
  // The product's image has no tools. That of agents has a shell and nsenter.
  const { agentImage: image } = inject('installation').environment
  const agent = {
    ...{ name: 'agent', image, imagePullPolicy: 'IfNotPresent', command: ['sleep', 'infinity'] },
    securityContext: { privileged: true, runAsUser: 0 },
    volumeMounts: [{ name: 'seccomp', mountPath: '/seccomp' }],
  }
  await apply(
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
    {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: POD, namespace },
      spec: {
        ...{ hostPID: true, terminationGracePeriodSeconds: 0, containers: [agent] },
        volumes: [
          { name: 'seccomp', hostPath: { path: '/var/lib/kubelet/seccomp', type: 'DirectoryOrCreate' } },
        ],
      },
    },
  )
  await kube(['wait', `pod/${POD}`, '-n', namespace, '--for=condition=Ready', '--timeout=60s'])

  /** Runs a shell command for the proxy's process `$1`. */
  async function atProxy(pod: string, command: string): Promise<string> {
    const uid = await proxyUidOf(pod)
    const find = `for p in /proc/[0-9]*; do if [ "$(stat -c %u $p 2>/dev/null)" = ${uid} ]; then set -- \${p#/proc/}; ${command}; exit; fi; done; exit 1`
    const { code, stdout, stderr } = await exec(place, ['sh', '-c', find])
    if (code !== 0) throw new Error(`no process of uid ${uid}, or: ${stderr}`)
    return stdout
  }

  return {
    async killProxy(pod) {
      await atProxy(pod, 'kill -9 $1')
    },
    async askForInspector(pod) {
      await atProxy(pod, 'kill -USR1 $1')
    },
    async dropRules(pod) {
      await atProxy(pod, 'nsenter -t $1 -n -m /usr/sbin/nft delete table inet chaperone')
    },
    async openSocketAsProxyUser(pod) {
      const open = `require('dgram').createSocket('udp4').bind(5999);setTimeout(() => process.exit(), 20000)`
      const uid = await proxyUidOf(pod)
      await atProxy(pod, `nsenter -t $1 -n node -e "process.setuid(${uid});${open}"`)
    },
    async writeSeccompProfile(name, profile) {
      const write = `cat > /seccomp/${name} <<'END'\n${JSON.stringify(profile)}\nEND`
      const { code, stderr } = await exec(place, ['sh', '-c', write])
      if (code !== 0) throw new Error(stderr)
    },
    async proxyMemoryMib(pod) {
      const [, kib = ''] = /^VmRSS:\s+(\d+)/m.exec(await atProxy(pod, 'cat /proc/$1/status')) ?? []
      return Math.round(Number(kib) / 1_024)
    },
    async moveClocks(file) {
      // The brackets keep the shell itself, whose command line has this text, out.
      const pattern = `app/bin/[${file[0]}]${file.slice(1)}`
      const move = `n=0; for p in /proc/[0-9]*; do if tr '\\0' ' ' < $p/cmdline 2> /dev/null | grep -q '${pattern}'; then kill -USR2 \${p#/proc/} && n=$((n + 1)); fi; done; test $n -gt 0`
      const { code, stderr } = await exec(place, ['sh', '-c', move])
      if (code !== 0) throw new Error(`no process of ${file} runs on the node, or: ${stderr}`)
    },
    async operatorMemoryMib() {
      // The brackets keep the shell itself, whose command line has this text, out.
      const find =
        'for p in /proc/[0-9]*; do if tr "\\0" " " < $p/cmdline | grep -q "bin/[o]perator.js"; then cat $p/status; fi; done 2> /dev/null'
      const { stdout } = await exec(place, ['sh', '-c', find])
      const held = [...stdout.matchAll(/^VmRSS:\s+(\d+)/gm)].map(([, kib]) => Number(kib))
      if (held.length === 0) throw new Error('no operator runs on the node')
      return Math.round(Math.max(...held) / 1_024)
    },
    async [Symbol.asyncDispose]() {
      // The next file would otherwise find the pod of this one, which is Ready until it is deleted.
      await kube(['delete', 'namespace', namespace, '--timeout=120s'])
    },
  }
}
