const POSTGRES_URL = /^postgres(ql)?:\/\//
const EXAMPLE = 'postgres://user:password@host:5432/database'

/**
 * Reads the addresses of the database. The errors omit the values, which may contain a password.
 * @param text Returns the value of an environment variable; null when the variable is not set.
 */
export function readDatabaseAddresses(text: (name: 'DATABASE_URL' | 'DATABASE_LISTEN_URL') => string | null) {
  const [databaseUrl, databaseListenUrl] = [text('DATABASE_URL'), text('DATABASE_LISTEN_URL')]
  if (databaseUrl === null || !POSTGRES_URL.test(databaseUrl))
    throw new Error(
      `DATABASE_URL is ${databaseUrl === null ? 'not set' : 'not a PostgreSQL address'}: set it to ${EXAMPLE}`,
    )
  if (databaseListenUrl !== null && !POSTGRES_URL.test(databaseListenUrl))
    throw new Error(`DATABASE_LISTEN_URL is not a PostgreSQL address: set it to ${EXAMPLE}`)
  return { databaseUrl, databaseListenUrl }
}
