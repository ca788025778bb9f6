import { ChaperoneError } from '../core/errors.ts'

export type OperatorConfig = {
  readonly manifestsDir: string
  /** Without a trailing slash. */
  readonly controlPlaneUrl: string
  readonly operatorTokenFile: string
  readonly logLevel: string
}

/** The watcher's settings from its environment. Throws `validation` naming the variable. */
export function readConfig(env: Readonly<Record<string, string | undefined>>): OperatorConfig {
  return {
    manifestsDir: required(env, 'MANIFESTS_DIR', 'the folder that holds the YAML manifests'),
    controlPlaneUrl: httpUrl(required(env, 'CONTROL_PLANE_URL', 'the address of the control plane')),
    operatorTokenFile: required(env, 'OPERATOR_TOKEN_FILE', 'the file that holds the operator token'),
    logLevel: env.LOG_LEVEL ?? 'info',
  }
}

function required(env: Readonly<Record<string, string | undefined>>, name: string, meaning: string): string {
  const value = env[name]
  if (value === undefined || value === '') {
    throw new ChaperoneError('validation', { detail: `${name} is not set; give ${meaning}` })
  }
  return value
}

function httpUrl(value: string): string {
  if (!URL.canParse(value) || !/^https?:$/.test(new URL(value).protocol)) {
    throw new ChaperoneError('validation', {
      detail: `CONTROL_PLANE_URL is ${JSON.stringify(value)}; give an address such as http://127.0.0.1:3000`,
    })
  }
  return value.replace(/\/+$/, '')
}
