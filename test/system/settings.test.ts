import { expect, test } from 'vitest'
import { readConfig as readControlPlane } from '../../controlplane/config.ts'
import { CONFIG_VARIABLES as CONTROL_PLANE } from '../../controlplane/config-variables.ts'
import { resourceFields } from '../../core/resource-attributes.ts'
import { readInjection, readConfig as readOperator } from '../../operator/config.ts'
import { CONFIG_VARIABLES as OPERATOR } from '../../operator/config-variables.ts'
import { readConfig as readGateway } from '../../sidecar/config.ts'
import { CONFIG_VARIABLES as GATEWAY } from '../../sidecar/config-variables.ts'

type Env = Readonly<Record<string, string | undefined>>
const SERVER = { CONTROL_PLANE_URL: 'https://control-plane', GATEWAY_TOKEN_FILE: '/token' }
const POD = {
  ROLE: 'pod',
  POD_NAME: 'p',
  POD_NAMESPACE: 'n',
  POD_UID: 'u',
  POD_SERVICE_ACCOUNT: 's',
  DNS_RESOLVERS: '10.96.0.10',
  CLUSTER_DOMAIN: 'c',
}

const PROGRAMS = [
  {
    program: 'control plane',
    known: CONTROL_PLANE,
    read: (env: Env) => [readControlPlane(env), resourceFields(env)],
    env: { DATABASE_URL: 'postgres://u:p@h/db', MASTER_KEY: 'ab'.repeat(32) },
  },
  {
    program: 'gateway',
    known: GATEWAY,
    read: (env: Env) => [readGateway(env), resourceFields(env)],
    env: { ...SERVER, ...POD, DATA_DIR: '/data', GATEWAY_NAME: 'g', AGENT_NAME: 'a' },
  },
  {
    program: 'operator',
    known: OPERATOR,
    read: (env: Env) => [readInjection(readOperator(env), env), resourceFields(env)],
    env: { ...SERVER, POD_NAMESPACE: 'n', OPERATOR_TOKEN_FILE: '/token', SIDECAR_IMAGE: 'image' },
  },
]

test.each(PROGRAMS)(
  'the reference has exactly the settings that the $program reads',
  ({ known, read, env }) => {
    const names = new Set<string>()
    read(
      new Proxy<Env>(env, {
        get: (target, name) => {
          names.add(String(name))
          return Reflect.get(target, name) as unknown
        },
      }),
    )
    expect([...names].toSorted()).toEqual(Object.keys(known).toSorted())
  },
)
