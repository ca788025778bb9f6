import { lookup } from 'node:dns/promises'
import { checkedAddresses, type Reach, type Resolve } from '../../../../core/request/outbound-address.ts'
import type { EmailSettings } from '../../../../core/wire/notifications/notification-channels.ts'
import type { Delivery } from '../delivery.ts'
import { addressRefused } from '../send.ts'
import { type Channel, type Notice, noticeText } from './channel.ts'

export type EmailOptions = {
  /** Address ranges in which SMTP servers are allowed; default: public addresses only. */
  readonly reach?: Reach
  readonly resolve?: Resolve
  /** Certificate authorities (PEM) that replace the default certificate authorities of Node. */
  readonly ca?: readonly string[]
}

/** Time limit of each phase of the SMTP session in milliseconds. */
const TIMEOUT_MS = 8_000
/**
 * Time limit in milliseconds of the whole attempt, DNS look-up included. The limit is below the time for which one
 * process may deliver a message (30 s).
 */
const ATTEMPT_MS = 20_000

/** Sends notices by SMTP, one message to all receivers (Bcc). */
export function createEmailChannel(options: EmailOptions = {}): Channel<EmailSettings> {
  const resolve = options.resolve ?? ((host: string) => lookup(host, { all: true, order: 'verbatim' }))
  const attempt = async (
    settings: EmailSettings,
    message: ReturnType<typeof messageOf>,
    limit: AbortSignal,
  ): Promise<Delivery> => {
    const { host } = settings
    const checked = await unlessAborted(checkedAddresses(host, options.reach ?? 'public', resolve), limit)
    if (!checked.ok) return failed(addressRefused(host, checked))
    const [first] = checked.addresses
    if (first === undefined) return failed(`${host} has no address`)
    return deliver(transportOptions(settings, first.address, options.ca), message, limit)
  }
  return {
    async send(settings, notice, signal) {
      const to = settings.to.length > 0 ? settings.to : notice.approvers
      if (to.length === 0) return failed('no active user may answer, so the e-mail has no receiver')
      const limit = AbortSignal.any([signal, AbortSignal.timeout(ATTEMPT_MS)])
      return attempt(settings, messageOf(settings, notice, to), limit).catch((error: unknown) =>
        failure(settings, error),
      )
    },
  }
}

async function deliver(
  options: ReturnType<typeof transportOptions>,
  message: ReturnType<typeof messageOf>,
  signal: AbortSignal,
): Promise<Delivery> {
  // The library is imported with the first e-mail, because an installation without e-mail should not have it in
  // memory.
  const { createTransport } = await import('nodemailer')
  const transport = createTransport(options)
  try {
    await unlessAborted(transport.sendMail(message), signal)
    return { outcome: 'delivered', status: 250 }
  } finally {
    transport.close()
  }
}

/**
 * Returns the options of the SMTP transport, which connects to the checked address and verifies the certificate for the
 * host name.
 */
function transportOptions(settings: EmailSettings, address: string, ca: readonly string[] | undefined) {
  const { host, port, tls, username, password } = settings
  return {
    host: address,
    port,
    secure: tls === 'implicit',
    requireTLS: tls === 'starttls',
    ignoreTLS: tls === 'none',
    ...(username === '' || tls === 'none' ? {} : { auth: { user: username, pass: password } }),
    tls: { servername: host, ...(ca === undefined ? {} : { ca: [...ca] }) },
    connectionTimeout: TIMEOUT_MS,
    greetingTimeout: TIMEOUT_MS,
    socketTimeout: TIMEOUT_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
  }
}

function messageOf({ from }: EmailSettings, notice: Notice, to: readonly string[]) {
  return {
    from: { name: 'Chaperone', address: from },
    envelope: { from, to: [...to] },
    to: { name: 'Approvers', address: from },
    subject: notice.title,
    text: noticeText(notice),
    // All attempts have the same id, so that mail clients show a repeated message once.
    messageId: `<${notice.id}@chaperone>`,
    headers: { 'auto-submitted': 'auto-generated' },
  }
}

type SmtpError = {
  readonly code?: string
  readonly responseCode?: number
  /** Reply text of the server. `message` contains the same text. */
  readonly response?: string
  readonly message?: string
}

/**
 * Error codes of refusals after the greeting of the server. The reply text of such a refusal states what an
 * administrator must correct.
 */
const REFUSALS = ['EAUTH', 'EENVELOPE', 'EMESSAGE']

/**
 * Returns the failed attempt. Quotes reply texts of the server for `REFUSALS` only: other texts, such as a greeting,
 * could disclose which service listens on a port.
 */
function failure({ host, port }: EmailSettings, error: unknown): Delivery {
  const { code = 'failed', responseCode = 0, response, message = String(error) } = error as SmtpError
  const status = responseCode >= 200 && responseCode < 600 ? responseCode : null
  const isQuoted = response === undefined || REFUSALS.includes(code)
  const why = `${host}:${port} ${code}: ${isQuoted ? message : answerOf(status)}`
  return { outcome: 'failed', why: why.slice(0, 300), status }
}

function answerOf(status: number | null): string {
  if (status === null) return 'the answer of the server is not SMTP'
  return `the server refused the session (${Math.floor(status / 100)}xx)`
}

function failed(why: string): Delivery {
  return { outcome: 'failed', why, status: null }
}

function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  const stop = () => reject(new Error('the attempt took too long'))
  if (signal.aborted) stop()
  signal.addEventListener('abort', stop, { once: true })
  return Promise.race([work, promise]).finally(() => signal.removeEventListener('abort', stop))
}
