import { describe, expect, test } from 'vitest'
import { readConfig } from '../../controlplane/config.ts'

const ENOUGH = { DATABASE_URL: 'postgres://u:p@h/db', MASTER_KEY_FILE: '/keys/master.key' }

describe('the configuration', () => {
  test('has safe defaults: loopback, open registration there only', () => {
    expect(readConfig(ENOUGH)).toMatchObject({
      host: '127.0.0.1',
      port: 3000,
      registration: 'local',
      auditRetentionDays: null,
      maintenanceSecret: null,
      logLevel: 'info',
      masterKey: { file: '/keys/master.key' },
    })
    expect(readConfig({ ...ENOUGH, HOST: '0.0.0.0' }).registration).toBe('invite')
    expect(readConfig({ ...ENOUGH, HOST: '::1' }).registration).toBe('local')
    expect(readConfig({ ...ENOUGH, REGISTRATION: 'open' }).registration).toBe('open')
    expect(readConfig({ ...ENOUGH, TRUSTED_PROXIES: '127.0.0.1' }).registration).toBe('invite')
    expect(readConfig({ ...ENOUGH, PUBLIC_URL: 'https://c.example' }).registration).toBe('invite')
    expect(readConfig({ ...ENOUGH, HOST: '127.evil.example' }).registration).toBe('invite')
    expect(readConfig({ ...ENOUGH, PUBLIC_URL: 'https://c.example/x/' }).publicUrl).toBe(
      'https://c.example/x',
    )
  })

  test('lets the admin token answer approvals only where that is requested, or where break-glass closes it', () => {
    expect(readConfig(ENOUGH).approvals).toBe('session')
    expect(readConfig({ ...ENOUGH, APPROVALS: 'token' }).approvals).toBe('token')
    const cluster = { ...ENOUGH, ADMIN_TOKEN_OBJECT: 'chaperone-system/chaperone-keys' }
    expect(readConfig(cluster).approvals).toBe('token')
    expect(readConfig({ ...cluster, APPROVALS: 'session' }).approvals).toBe('session')
  })

  test.each([
    [{ DATABASE_URL: '' }, /^DATABASE_URL is not set: set it to postgres:/],
    [{ DATABASE_URL: 'mysql://u:secret@h' }, /^DATABASE_URL is not a PostgreSQL address/],
    [{ MASTER_KEY_FILE: '' }, /^MASTER_KEY_FILE is not set/],
    [{ PORT: '70000' }, /^PORT is "70000": set it to a number/],
    [{ PORT: '3e3' }, /^PORT/],
    [{ DATABASE_LISTEN_URL: 'db:5432' }, /^DATABASE_LISTEN_URL is not a PostgreSQL address: set it to/],
    [{ DATABASE_PREPARE: 'no' }, /^DATABASE_PREPARE/],
    [{ DATABASE_POOL_SIZE: '3' }, /^DATABASE_POOL_SIZE is "3": set it to a number from 4 to 200/],
    [{ DATABASE_POOL_SIZE: '1e2' }, /^DATABASE_POOL_SIZE/],
    [{ REGISTRATION: 'maybe' }, /^REGISTRATION is "maybe": set it to one of open, invite/],
    [{ AUDIT_RETENTION_DAYS: '0' }, /^AUDIT_RETENTION_DAYS/],
    [{ AUDIT_RETENTION_DAYS: '1.5' }, /^AUDIT_RETENTION_DAYS/],
    [{ TRAFFIC_RETENTION_HOURS: '0' }, /^TRAFFIC_RETENTION_HOURS is "0": set it to a number from 1 to 168/],
    [{ TRAFFIC_RETENTION_HOURS: '169' }, /^TRAFFIC_RETENTION_HOURS/],
    [{ RECORD_EXPORT_URL: 'http://collector:4318' }, /^RECORD_EXPORT_URL is not an http or https address/],
    [{ NOTIFY_ALLOW_CIDRS: '10.0.0.0/8,10.0.0.0/33' }, /^NOTIFY_ALLOW_CIDRS has "10.0.0.0\/33"/],
    [{ PUBLIC_URL: 'chaperone.example' }, /^PUBLIC_URL/],
    [{ LOG_LEVEL: 'loud' }, /^LOG_LEVEL/],
  ])('refuses %o by name', (env, message) => {
    expect(() => readConfig({ ...ENOUGH, ...env } as Record<string, string>)).toThrow(message)
  })

  test('never repeats a database password in an error', () => {
    expect(() => readConfig({ ...ENOUGH, DATABASE_URL: 'mysql://u:secret@h' })).not.toThrow(/secret/)
  })
})
