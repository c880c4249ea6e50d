// Starts GraphiQL with what the server has pre-filled. Headers of the headers
// tab go into HTTP requests and, for subscriptions, into connection_init.
'use strict';
(function () {
  const root = document.getElementById('graphiql');
  const prefill = JSON.parse(root.dataset.prefill);
  const url = new URL(root.dataset.endpoint, location.href);
  const subscriptionUrl = new URL(url);
  subscriptionUrl.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';

  // Nothing is kept in the browser: tokens do not belong there, and a stored
  // tab would bring back a token that a restarted server no longer accepts.
  const kept = new Map();
  const storage = {
    getItem: (key) => (kept.has(key) ? kept.get(key) : null),
    setItem: (key, value) => { kept.set(key, String(value)); },
    removeItem: (key) => { kept.delete(key); },
    clear: () => { kept.clear(); },
    get length() { return kept.size; },
  };

  const headers = prefill.token && JSON.stringify({ Authorization: 'Bearer ' + prefill.token }, null, 2);

  ReactDOM.createRoot(root).render(
    React.createElement(GraphiQL, {
      fetcher: GraphiQL.createFetcher({ url: url.href, subscriptionUrl: subscriptionUrl.href }),
      query: prefill.query || undefined,
      variables: prefill.variables || undefined,
      headers: headers || undefined,
      defaultHeaders: headers || undefined,
      isHeadersEditorEnabled: true,
      shouldPersistHeaders: false,
      inputValueDeprecation: true,
      storage,
    }),
  );
})();
