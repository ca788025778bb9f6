import type { Logger } from 'pino'
import { ChaperoneError } from '../core/errors.ts'
import { failureReason } from '../core/failure-reason.ts'
import { ownerLinkOf } from '../core/wire/access/owner-link.ts'
import { sha256 } from '../runtime/sha256.ts'
import type { ControlPlaneConfig } from './config.ts'
import {
  createInstallationProof,
  type InstallationProof,
  readInstallationKey,
} from './crypto/installation-proof.ts'
import { createKeyring, type RotatingKeyring } from './crypto/keyring.ts'
import { parseMasterKeys } from './crypto/master-keys.ts'
import type { PasswordCost } from './crypto/password.ts'
import { readOrCreateToken, readSecretFile } from './crypto/secret-files.ts'
import { openDb } from './db/open.ts'
import type { Db } from './db/query.ts'
import { createIndexBuilder } from './db/schema/index-builder.ts'
import { migrate } from './db/schema/migrate.ts'
import { systemActor } from './features/audit/actor.ts'
import { acceptChatForms } from './features/chat/routes.ts'
import type { ReadKeys } from './features/master-key/service.ts'
import type { EmailOptions } from './features/notifications/channels/email.ts'
import type { PushOptions } from './features/notifications/push/sender.ts'
import { listen } from './http/listen.ts'
import { startMigrationServer } from './http/migration-server.ts'
import { createHttpServer } from './http/server.ts'
import { openTls, type Tls } from './http/tls.ts'
import { createRoutes } from './routes.ts'
import { createServices, type Services } from './services.ts'
import { VERSION } from './version.ts'

export type ControlPlane = {
  readonly port: number
  /** Address of the listener, without a slash at the end. */
  readonly url: string
  /**
   * Creates an owner link, which the program prints on a terminal. Resolves to null when an owner exists, and in a
   * cluster.
   */
  makeOwnerLink(): Promise<string | null>
  close(): Promise<void>
}

/**
 * Options for programs that embed the control plane. `chatApiUrl` replaces the address of the chat provider's web
 * API. `smtp` replaces the resolver and the certificate authorities for e-mail. `push` replaces the push services of
 * browsers.
 */
export type ControlPlaneOptions = {
  readonly chatApiUrl?: string
  readonly smtp?: EmailOptions
  readonly push?: PushOptions
  /** Cost of new password hashes; default: the cost of production. */
  readonly passwordCost?: PasswordCost
}

/** Secrets from environment variables and files, read at the start. */
type Secrets = {
  readonly keyring: RotatingKeyring
  readonly readKeys: ReadKeys
  readonly adminTokenHash: Buffer | null
  readonly operatorTokenHash: Buffer | null
  readonly maintenanceSecretHash: Buffer | null
  readonly localGatewayToken: string | null
  readonly installationProof: InstallationProof | null
}

/** Migrates the database, creates the services and listens. Releases all resources when a step fails. */
export async function createControlPlane(
  config: ControlPlaneConfig,
  log: Logger,
  options: ControlPlaneOptions = {},
): Promise<ControlPlane> {
  const secrets = await readSecrets(config)
  const db = await connect(config, log)
  try {
    await migrate(db, { log, whilePending: () => answerProbes(config, { ...secrets, log }) })
    return await serve(config, { secrets, db, log, ...options })
  } catch (error) {
    await db.close()
    throw error
  }
}

async function serve(
  config: ControlPlaneConfig,
  { secrets, ...given }: { secrets: Secrets; db: Db; log: Logger } & ControlPlaneOptions,
): Promise<ControlPlane> {
  const { db, log } = given
  let tls: Tls | null = null
  const serverCertificate = () => tls?.certificate.cert ?? null
  const services = await createServices({ config, ...given, ...secrets, serverCertificate })
  await services.manifests.bindPolicies()
  let url = config.publicUrl ?? ''
  const routes = createRoutes(services, {
    installationProof: secrets.installationProof,
    isSecure: config.tls !== null || url.startsWith('https:'),
    baseUrl: () => url,
  })
  const auth = {
    ...secrets,
    identify: services.identify,
    isTokenRestricted: services.isTokenRestricted,
    breakGlass: services.breakGlass,
    publicUrl: config.publicUrl,
  }
  const { readClientCa } = services
  tls =
    config.tls === null ? null : await openTls(config.tls, { keyring: secrets.keyring, log, readClientCa })
  const { host: listenHost, trustedProxies } = config
  const app = createHttpServer({ routes, auth, log, tls, version: VERSION, listenHost, trustedProxies })
  acceptChatForms(app)
  const indexes = createIndexBuilder(given)
  try {
    const address = await listen(app, config)
    if (config.publicUrl === null) url = address.url
    return {
      ...address,
      makeOwnerLink: async () => {
        if (config.ownerLinkSecret !== null) return null
        const token = await services.ownerLinks.make(systemActor('terminal'), { isRequired: false })
        return token === null ? null : ownerLinkOf(url, token)
      },
      async close() {
        const cutConnections = () => app.server.closeAllConnections()
        const closing = closeAll(services, app.close.bind(app), cutConnections, db)
        await Promise.all([indexes[Symbol.asyncDispose](), closing])
      },
    }
  } catch (error) {
    await indexes[Symbol.asyncDispose]()
    await services.stop()
    await app.close()
    throw error
  }
}

async function answerProbes(
  { host, port, tls }: ControlPlaneConfig,
  deps: Pick<Secrets, 'keyring'> & { readonly log: Logger },
): Promise<AsyncDisposable> {
  return startMigrationServer({ host, port, tls: tls === null ? null : await openTls(tls, deps) })
}

const CLOSE_GRACE_MS = 2_000

/**
 * Closes the streams first, so that gateways connect to another replica. Then waits for requests in flight, at most
 * `CLOSE_GRACE_MS`, and closes the database last.
 */
async function closeAll(
  services: Services,
  closeApp: () => Promise<void>,
  cutConnections: () => void,
  db: Db,
): Promise<void> {
  await services.stop()
  const cut = setTimeout(cutConnections, CLOSE_GRACE_MS)
  await closeApp()
  clearTimeout(cut)
  await db.close()
}

async function connect(config: ControlPlaneConfig, log: Logger): Promise<Db> {
  try {
    return await openDb({
      url: config.databaseUrl,
      listenUrl: config.databaseListenUrl,
      tls: config.databaseTls,
      log,
      preparesStatements: config.databasePreparesStatements,
      max: config.databasePoolSize,
    })
  } catch (error) {
    // The message of a `ChaperoneError` is written for API callers, so the start-up error contains the message of its
    // cause instead.
    const cause = error instanceof ChaperoneError ? (error.cause ?? error) : error
    const { hostname, port, pathname } = new URL(config.databaseUrl)
    throw new Error(
      `cannot use the database ${hostname}:${port || '5432'}${pathname} (${failureReason(cause)}): check DATABASE_URL`,
      { cause },
    )
  }
}

async function readSecrets(config: ControlPlaneConfig): Promise<Secrets> {
  const { masterKey, adminTokenFile, operatorTokenFile, localGatewayTokenFile, maintenanceSecret } = config
  const { installationKeyFile } = config
  const readKeys = async () =>
    'file' in masterKey
      ? parseMasterKeys(await readSecretFile(masterKey.file, 'MASTER_KEY_FILE'), masterKey.file)
      : parseMasterKeys(masterKey.value, 'MASTER_KEY')
  const adminToken = adminTokenFile && (await readOrCreateToken(adminTokenFile, 'ADMIN_TOKEN_FILE'))
  const operatorToken = operatorTokenFile && (await readSecretFile(operatorTokenFile, 'OPERATOR_TOKEN_FILE'))
  return {
    keyring: createKeyring(await readKeys()),
    readKeys,
    adminTokenHash: adminToken ? sha256(adminToken) : null,
    operatorTokenHash: operatorToken ? sha256(operatorToken) : null,
    maintenanceSecretHash: maintenanceSecret ? sha256(maintenanceSecret) : null,
    installationProof:
      installationKeyFile === null
        ? null
        : createInstallationProof(await readInstallationKey(installationKeyFile)),
    localGatewayToken:
      localGatewayTokenFile && (await readSecretFile(localGatewayTokenFile, 'LOCAL_GATEWAY_TOKEN_FILE')),
  }
}
