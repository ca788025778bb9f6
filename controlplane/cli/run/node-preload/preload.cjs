'use strict'
// Loaded with `NODE_OPTIONS=--require` by the Node programs (18 and newer) that `chaperone run` starts. Tunnels every TCP
// connection to a non-loopback address through a CONNECT to the gateway, so that clients without support for proxy variables
// (fetch and https before Node 24, ws, stripe, custom HTTP agents) are governed too. This file is plain JavaScript without
// dependencies, because it runs inside other programs.
const net = require('node:net')
const tls = require('node:tls')
const { syncBuiltinESMExports } = require('node:module')
const { domainToASCII } = require('node:url')

const MAX_HEAD_BYTES = 65_536
/** Marks a thread in which the hooks are installed, because the file may be loaded more than once. */
const INSTALLED = Symbol.for('chaperone.preload')

const connectSocket = net.Socket.prototype.connect
const connectTls = tls.connect
const proxy = proxyOf(process.env.HTTPS_PROXY)
// Bun and Deno read NODE_OPTIONS too, but do not use Node's sockets.
const isNode = process.versions.bun === undefined && process.versions.deno === undefined
if (proxy !== null && isNode && !net[INSTALLED]) {
  install()
  dropStartWarning()
}

function install() {
  Object.defineProperty(net, INSTALLED, { value: true })
  net.Socket.prototype.connect = function connect(...args) {
    const { options, callback } = readArguments(args)
    const authority = authorityOf(options)
    if (authority === null) return connectSocket.apply(this, args)
    if (callback !== null) this.once('connect', callback)
    return openTunnel(this, authority)
  }
  tls.connect = function connect(...args) {
    const { options, callback } = readArguments(args)
    const authority = options.socket ? null : authorityOf(options)
    if (authority === null) return connectTls.apply(this, args)
    return openSecureTunnel(options, callback)
  }
  syncBuiltinESMExports()
}

/** Suppresses the warning of Node 22 with NODE_USE_ENV_PROXY that its proxy support is experimental. */
function dropStartWarning() {
  const { emit } = process
  const restore = () => {
    process.emit = emit
  }
  process.emit = function (event, warning, ...rest) {
    if (event !== 'warning' || !warning || warning.code !== 'UNDICI-EHPA')
      return emit.call(this, event, warning, ...rest)
    restore()
    return false
  }
  // Node emits start-up warnings in the first turn of the event loop.
  setImmediate(restore).unref()
}

/** Returns the agent's port on the gateway; null without a proxy or for a proxy on another machine. */
function proxyOf(text) {
  try {
    const { protocol, hostname, port, username, password } = new URL(text)
    const host = hostname.replace(/^\[|\]$/g, '')
    if (protocol !== 'http:' || !isLoopback(host)) return null
    const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
    return { host, port: Number(port || 80), key: Buffer.from(pair).toString('base64') }
  } catch {
    return null
  }
}

/** Parses the arguments of net.connect and tls.connect: options, a path, or port and host; then options, then a callback. */
function readArguments(args) {
  const [first] = args
  // net.connect passes normalized arguments as an array.
  if (Array.isArray(first)) return { options: first[0] ?? {}, callback: first[1] ?? null }
  const last = args.at(-1)
  const callback = typeof last === 'function' ? last : null
  if (typeof first === 'object' && first !== null) return { options: first, callback }
  const more = args.slice(1).find((arg) => typeof arg === 'object' && arg !== null)
  if (typeof first === 'string' && !(Number(first) >= 0))
    return { options: { path: first, ...more }, callback }
  const host = typeof args[1] === 'string' ? { host: args[1] } : {}
  return { options: { port: first, ...host, ...more }, callback }
}

/** Returns `HOST:PORT` of a non-loopback connection, else null. Invalid options are left to Node, which reports them. */
function authorityOf({ path, host, port: given, onread }) {
  const port = Number(given)
  if (path || !host || isLoopback(host) || !Number.isInteger(port) || port < 1 || port > 65_535) return null
  const name = net.isIP(host) === 0 ? domainToASCII(host) : host
  const text = net.isIPv6(name) ? `[${name}]:${port}` : `${name}:${port}`
  return { host, text, isName: name !== '', onread }
}

function isLoopback(host) {
  const name = String(host).toLowerCase()
  if (name === 'localhost' || name === '::1') return true
  return net.isIPv4(name) && (name.startsWith('127.') || name === '0.0.0.0')
}

/**
 * Connects the socket to the gateway and opens a tunnel with CONNECT. The socket emits `connect` and `ready` when the tunnel
 * is open. Until then `connecting` is true, so that Node buffers reads and writes.
 */
function openTunnel(socket, authority) {
  const obstacle = obstacleOf(socket, authority)
  if (obstacle !== null) {
    process.nextTick(() => socket.destroy(failure(authority, obstacle)))
    return socket
  }
  const { emit, push } = socket
  const release = () => Object.assign(socket, { emit, push })
  const tunnel = { answer: Buffer.alloc(0), release }
  socket.emit = function (event, ...args) {
    if (event === 'ready') return false
    if (event !== 'connect') return emit.call(this, event, ...args)
    sendConnect(this, authority)
    return false
  }
  socket.push = function (chunk) {
    readAnswer(this, authority, tunnel, chunk)
    return true
  }
  socket.once('close', release)
  // Emits `lookup`, because clients with a timeout for name resolution wait for this event.
  process.nextTick(() => socket.emit('lookup', null, proxy.host, net.isIP(proxy.host), authority.host))
  return connectSocket.call(socket, { host: proxy.host, port: proxy.port })
}

function obstacleOf(socket, { isName, onread }) {
  if (!isName) return 'The host name is not valid.'
  if (onread) return 'The option onread is not supported. Use chaperone run --capture.'
  return socket instanceof tls.TLSSocket ? 'Use tls.connect, or chaperone run --capture.' : null
}

function sendConnect(socket, { text }) {
  const lines = [
    `CONNECT ${text} HTTP/1.1`,
    `Host: ${text}`,
    `Proxy-Authorization: Basic ${proxy.key}`,
    '',
    '',
  ]
  // Writes the CONNECT request past the queue of Writable, in which the program's writes wait for `connect`.
  socket._write(Buffer.from(lines.join('\r\n')), 'buffer', (error) => error && socket.destroy(error))
  socket._read(0)
  socket.connecting = true
}

function readAnswer(socket, authority, tunnel, chunk) {
  if (chunk !== null) tunnel.answer = Buffer.concat([tunnel.answer, chunk])
  const end = tunnel.answer.indexOf('\r\n\r\n')
  const head = end === -1 ? '' : tunnel.answer.toString('latin1', 0, end)
  const body = end === -1 ? Buffer.alloc(0) : tunnel.answer.subarray(end + 4)
  if (/^HTTP\/1\.[01] 2\d\d/.test(head)) return enterTunnel(socket, tunnel, body)
  const length = Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0)
  const isWhole = head !== '' && body.length >= length
  if (chunk !== null && !isWhole && tunnel.answer.length < MAX_HEAD_BYTES) return
  socket.destroy(failure(authority, reasonIn(body.toString()), Number(head.split(' ')[1])))
}

function enterTunnel(socket, tunnel, rest) {
  tunnel.release()
  socket.off('close', tunnel.release)
  socket.connecting = false
  socket.emit('connect')
  socket.emit('ready')
  if (rest.length > 0) socket.push(rest)
}

function reasonIn(body) {
  try {
    const { message, error } = JSON.parse(body)
    return String(message ?? error)
  } catch {
    return 'The gateway closed the connection.'
  }
}

/** Returns an error with the code that Node's own proxy support uses. */
function failure({ host, text }, why, statusCode) {
  const error = new Error(`chaperone does not connect to ${text}: ${why}`)
  return Object.assign(error, { code: 'ERR_PROXY_TUNNEL', host, ...(statusCode ? { statusCode } : {}) })
}

/**
 * Opens a TLS connection through a tunnel. Node's TLS takes over the handle of a socket before the tunnel is open, so TLS
 * runs over a `Carrier` stream in front of the tunnel.
 */
function openSecureTunnel(options, callback) {
  const { noDelay, keepAlive, keepAliveInitialDelay, timeout } = options
  const tunnel = new net.Socket({ noDelay, keepAlive, keepAliveInitialDelay })
  tunnel.connect({ host: options.host, port: options.port })
  const carrier = new Carrier(tunnel)
  const secured = connectTls({ ...options, socket: carrier }, callback ?? undefined)
  if (timeout) secured.setTimeout(timeout)
  tunnel.once('lookup', (...args) => secured.emit('lookup', ...args))
  for (const name of ['ref', 'unref', 'setNoDelay', 'setKeepAlive']) {
    secured[name] = (...args) => {
      tunnel[name](...args)
      return secured
    }
  }
  return secured
}

/** Socket without a handle. TLS treats the socket as connecting until the tunnel is open. */
class Carrier extends net.Socket {
  constructor(tunnel) {
    super({ allowHalfOpen: true })
    this.tunnel = tunnel
    this.connecting = true
    tunnel.once('connect', () => {
      this.connecting = false
      this.emit('connect')
    })
    tunnel.on('data', (chunk) => {
      if (!this.push(chunk)) tunnel.pause()
    })
    tunnel.on('end', () => this.push(null))
    tunnel.on('error', (error) => this.destroy(error))
    tunnel.on('close', () => this.destroy())
  }

  _read() {
    this.tunnel.resume()
  }

  _write(chunk, encoding, done) {
    this.tunnel.write(chunk, encoding, done)
  }

  _writev(chunks, done) {
    this.tunnel.write(Buffer.concat(chunks.map(({ chunk }) => chunk)), done)
  }

  _final(done) {
    this.tunnel.end(done)
  }

  _destroy(error, done) {
    this.tunnel.destroy()
    super._destroy(error, done)
  }
}
