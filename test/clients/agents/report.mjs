// Runs one call of an unmodified client and prints what the client's user would see, as one JSON line.
export async function report(calls) {
  const call = calls[process.argv[2]]
  if (!call) throw new Error(`unknown call ${process.argv[2]}; known: ${Object.keys(calls).join(', ')}`)
  try {
    const value = await call()
    process.stdout.write(`${JSON.stringify({ ok: true, value: value ?? null })}\n`)
  } catch (error) {
    const status = error?.status ?? error?.statusCode ?? error?.code ?? null
    process.stdout.write(
      `${JSON.stringify({ ok: false, status, message: String(error?.message ?? error) })}\n`,
    )
  }
  // Keep-alive sockets of some SDKs would hold the process for seconds.
  process.exit(0)
}
