import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { WebSocket } from 'ws'
import { eventually } from '../support/eventually.ts'

/** One page of a real browser, driven over the DevTools protocol. */
export type Page = {
  open(url: string): Promise<void>
  /** The value of an expression in the page; promises are awaited. */
  value<T>(expression: string): Promise<T>
  /** Resolves once the expression is true. */
  until(expression: string): Promise<void>
  /** Types into a field as a person does, so that the page's own listeners hear it. */
  type(selector: string, text: string): Promise<void>
  click(selector: string): Promise<void>
  press(key: 'Tab' | 'Enter'): Promise<void>
  /** What the page complained about: exceptions, refused resources, violations of its policy. */
  readonly complaints: readonly string[]
  /** Texts of `alert`, `confirm` and `prompt`; each was answered with OK and the text `because of the test`. */
  readonly dialogs: readonly string[]
  close(): Promise<void>
}

const FLAGS = [
  '--headless=new',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--disable-dev-shm-usage',
  '--remote-debugging-port=0',
]
const NAMES = ['chromium', 'chromium-browser', 'google-chrome']

/** The command of an installed browser; null when there is none. */
export function findBrowser(): string | null {
  return NAMES.find((name) => spawnSync(name, ['--version']).status === 0) ?? null
}

export async function openBrowser(command: string): Promise<Page> {
  const profile = mkdtempSync(join(tmpdir(), 'chaperone-browser-'))
  const child = spawn(command, [...FLAGS, `--user-data-dir=${profile}`, 'about:blank'], {
    stdio: ['ignore', 'ignore', 'pipe'],
    // Its own group: a browser is many processes, and they end together.
    detached: true,
  })
  const socket = new WebSocket(await debuggerAddress(child))
  await once(socket, 'open')
  const protocol = createProtocol(socket)
  const { targetId } = await protocol.send<{ targetId: string }>('Target.createTarget', {
    url: 'about:blank',
  })
  const { sessionId } = await protocol.send<{ sessionId: string }>('Target.attachToTarget', {
    targetId,
    flatten: true,
  })
  return await createPage(protocol, sessionId, async () => {
    socket.close()
    await end(child)
    rmSync(profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
  })
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.pid === undefined) return
  const gone = once(child, 'exit')
  process.kill(-child.pid, 'SIGKILL')
  await gone
}

function debuggerAddress(child: ChildProcess): Promise<string> {
  let said = ''
  return new Promise((resolve, reject) => {
    child.stderr?.on('data', (chunk: Buffer) => {
      said += String(chunk)
      const address = /DevTools listening on (ws:\S+)/.exec(said)?.[1]
      if (address !== undefined) resolve(address)
    })
    child.once('error', reject)
    child.once('exit', (code) => reject(new Error(`the browser ended with ${code}: ${said.slice(-2_000)}`)))
  })
}

type Parameters = Readonly<Record<string, unknown>>
type Message = {
  readonly id?: number
  readonly method?: string
  readonly params?: Parameters
  readonly result?: unknown
  readonly error?: { readonly message: string }
}
type Protocol = {
  send<T>(method: string, params?: Parameters, sessionId?: string): Promise<T>
  onEvent(listener: (method: string, params: Parameters) => void): void
}

function createProtocol(socket: WebSocket): Protocol {
  let last = 0
  const waiting = new Map<number, (message: Message) => void>()
  const listeners: ((method: string, params: Parameters) => void)[] = []
  socket.on('message', (data) => {
    const message = JSON.parse(String(data)) as Message
    if (message.id !== undefined) waiting.get(message.id)?.(message)
    else for (const listener of listeners) listener(message.method ?? '', message.params ?? {})
  })
  return {
    onEvent: (listener) => void listeners.push(listener),
    send<T>(method: string, params: Parameters = {}, sessionId?: string): Promise<T> {
      last += 1
      const id = last
      return new Promise<T>((resolve, reject) => {
        waiting.set(id, ({ result, error }) => {
          waiting.delete(id)
          if (error === undefined) resolve(result as T)
          else reject(new Error(`${method}: ${error.message}`))
        })
        socket.send(JSON.stringify({ id, method, params, ...(sessionId === undefined ? {} : { sessionId }) }))
      })
    },
  }
}

async function createPage(protocol: Protocol, sessionId: string, close: () => Promise<void>): Promise<Page> {
  const send = <T>(method: string, params?: Parameters) => protocol.send<T>(method, params, sessionId)
  const complaints: string[] = []
  const dialogs: string[] = []
  protocol.onEvent((method, params) => {
    const complaint = complaintOf(method, params)
    if (complaint !== null) complaints.push(complaint)
    if (method !== 'Page.javascriptDialogOpening') return
    dialogs.push(String(params['message']))
    void send('Page.handleJavaScriptDialog', { accept: true, promptText: 'because of the test' })
  })
  for (const domain of ['Page', 'Runtime', 'Log', 'Network']) await send(`${domain}.enable`)
  const value = async <T>(expression: string): Promise<T> => {
    const { result, exceptionDetails } = await send<Evaluated>('Runtime.evaluate', {
      expression,
      awaitPromise: true,
      returnByValue: true,
      userGesture: true,
    })
    if (exceptionDetails !== undefined) throw new Error(`${expression}: ${JSON.stringify(exceptionDetails)}`)
    return result.value as T
  }
  const element = (selector: string) => `document.querySelector(${JSON.stringify(selector)})`
  const until = async (expression: string) => {
    await eventually(expression, async () => ((await value(`Boolean(${expression})`)) === true ? true : null))
  }
  return {
    complaints,
    dialogs,
    close,
    value,
    until,
    open: async (url) => {
      await send('Page.navigate', { url })
      await until('document.readyState === "complete"')
    },
    type: async (selector, text) => {
      await until(element(selector))
      await value(`${element(selector)}.focus()`)
      await send('Input.insertText', { text })
    },
    click: async (selector) => {
      await until(element(selector))
      // A dialog stops the page inside the click: its end is not awaited.
      await send('Runtime.evaluate', {
        expression: `setTimeout(() => ${element(selector)}.click())`,
        userGesture: true,
      })
    },
    press: async (key) => {
      const text = key === 'Enter' ? { text: '\r' } : {}
      const code = key === 'Enter' ? 13 : 9
      const event = { key, code: key, windowsVirtualKeyCode: code }
      await send('Input.dispatchKeyEvent', { type: 'keyDown', ...event, ...text })
      await send('Input.dispatchKeyEvent', { type: 'keyUp', ...event })
    },
  }
}

type Evaluated = { readonly result: { readonly value?: unknown }; readonly exceptionDetails?: unknown }

function complaintOf(method: string, params: Parameters): string | null {
  if (method === 'Runtime.exceptionThrown') return JSON.stringify(params['exceptionDetails'])
  if (method !== 'Log.entryAdded') return null
  const { level, text, url } = params['entry'] as { level: string; text: string; url?: string }
  return level === 'error' ? `${text} ${url ?? ''}` : null
}
