/** Protection against one kind of attacker on a single machine, with `chaperone run` and with `chaperone run --capture`. */
export type Limit = { readonly attacker: string; readonly run: string; readonly captured: string }

/** Protection by kind of attacker. The table must equal the one in docs/security.md, "On one machine". */
export const LIMITS: readonly Limit[] = [
  {
    attacker: 'Program that uses the proxy variables',
    run: 'held: every request is decided and recorded',
    captured: 'held',
  },
  {
    attacker: 'Program that ignores the proxy variables',
    run: 'not held: it connects directly, with credentials that it finds itself; a preload sends Node programs (18 and newer) to the gateway',
    captured: 'held: every connection leads to the gateway; UDP and unknown hosts are refused',
  },
  {
    attacker: 'Program that acts as another agent',
    run: "not held: it can read the other agent's key in the data folder, or register a new agent with gateway.token",
    captured: 'held: a port or the socket takes a request with the key of its agent only',
  },
  {
    attacker: 'Program that reads tokens, keys, credentials, manifests or sessions',
    run: 'not held: they are files of the same user',
    captured: 'held: data folder, manifests folder and state folder do not exist inside',
  },
  {
    attacker: 'Program that approves its own requests, makes users or lifts a stop',
    run: 'held against admin.token and gateway.token once there is an owner (--approvals session): they only tighten rules; not held: it can use the session of chaperone login, apply manifests or use operator.token to allow more, and change the database',
    captured: 'held: control plane, data folder and state folder are not reached',
  },
  {
    attacker: 'Program that registers as the first owner',
    run: 'held from the first chaperone run on: the owner link is required; not held against a program that reads the token or the keys which lead to the link',
    captured: 'held',
  },
  {
    attacker: 'Server of an agent on another port, which the user opens in a browser',
    run: 'held for writes: the session needs the secret of its page; not held: it reads with the cookie, and can take the port of a control plane that is stopped',
    captured: 'held: ports inside are not reached from the browser',
  },
  {
    attacker: 'Program that attaches to other processes',
    run: 'not held, where the kernel lets a user trace their own processes',
    captured: 'held: process namespace and /proc of its own, no inherited descriptors',
  },
  {
    attacker: 'Program that uses a daemon of the machine (containers, desktop bus, terminal multiplexer)',
    run: 'not held',
    captured:
      'held for Unix sockets that exist when the command starts, those of other network namespaces below /run; not for sockets made later',
  },
  {
    attacker: 'Program that changes files which the user runs later (shell profile, hooks, this program)',
    run: 'not held',
    captured: 'not held: it has the files of the user, but for the folders above',
  },
  {
    attacker: 'Program that reads what the user types in other terminals',
    run: 'not held: terminals are files of the same user',
    captured: 'held: it has terminals of its own and the one that it was started in',
  },
  {
    attacker: 'Program that types into a shared terminal (TIOCSTI)',
    run: 'not held, where the kernel allows it (dev.tty.legacy_tiocsti)',
    captured: 'not held there; set the sysctl to 0',
  },
  {
    attacker: 'Repository with a data folder in it',
    run: 'held: a folder counts after "chaperone trust DIR" only, and its server gets no token before it has proved itself with the key in your home',
    captured: 'held',
  },
  {
    attacker: 'Other user of the machine',
    run: 'held: files are private, ports need a key, folders of others are refused, a server without the key in your home gets no token, also on the port of an installation that has ended; not held: they register as a viewer and read records (REGISTRATION=invite ends this), and as the owner while there is none and no chaperone run was used',
    captured: 'the same',
  },
  {
    attacker: 'Root, or an agent that runs as root',
    run: 'not held',
    captured: 'not held: files of root are run by the machine; start agents as an ordinary user',
  },
]
