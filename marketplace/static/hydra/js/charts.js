/* Charts from data in the page: bars of earnings, a job's curve that grows while it runs. Colours come from the
   theme; each chart stands beside a table with the same numbers, so the canvas is hidden from screen readers. */
document.addEventListener("DOMContentLoaded", () => {
  const probe = document.createElement("span");
  probe.hidden = true;
  document.body.append(probe);
  const colour = (name) => {
    probe.style.color = `var(${name})`;
    return getComputedStyle(probe).color;
  };
  const still = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
  const charts = [];
  window.Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;

  const axis = (title) => ({
    title: { display: Boolean(title), text: title, color: colour("--muted") },
    ticks: { color: colour("--muted"), maxTicksLimit: 8 },
    grid: { color: colour("--line") },
    border: { color: colour("--line-strong") },
  });
  const base = () => ({
    responsive: true, maintainAspectRatio: false, animation: still ? false : { duration: 300 },
    interaction: { mode: "index", intersect: false },
    plugins: { legend: { labels: { color: colour("--ink"), usePointStyle: true } } },
  });

  const bars = (canvas) => {
    const data = JSON.parse(document.getElementById(canvas.dataset.source).textContent);
    return {
      type: "bar",
      data: { labels: data.labels, datasets: [{ label: canvas.dataset.label, data: data.values, backgroundColor: colour("--brand"), borderRadius: 4, maxBarThickness: 46 }] },
      options: { ...base(), plugins: { legend: { display: false } }, scales: { x: axis(""), y: { ...axis(canvas.dataset.label), beginAtZero: true } } },
    };
  };

  const points = (rows, key) => rows.filter((row) => row[key] !== null).map((row) => ({ x: row.step, y: row[key] }));
  const curve = (canvas) => {
    const rows = canvas.rows || JSON.parse(document.getElementById(canvas.dataset.source).textContent);
    const line = (label, key, name, side, dash) => ({ label, data: points(rows, key), yAxisID: side, borderColor: colour(name), backgroundColor: colour(name), borderDash: dash, borderWidth: 2.5, pointRadius: rows.length > 40 ? 0 : 3, tension: 0.2 });
    return {
      type: "line",
      data: { datasets: [line(canvas.dataset.accuracy, "accuracy", "--brand", "y", []), line(canvas.dataset.loss, "loss", "--accent", "loss", [6, 4])] },
      options: { ...base(), scales: {
        x: { ...axis(canvas.dataset.steps), type: "linear" },
        y: { ...axis(canvas.dataset.accuracy), min: 0, max: 1 },
        loss: { ...axis(canvas.dataset.loss), position: "right", beginAtZero: true, grid: { drawOnChartArea: false } },
      } },
    };
  };

  const build = { bars, curve };
  const draw = (canvas) => {
    if (canvas.chart) canvas.chart.destroy();
    canvas.chart = new window.Chart(canvas, build[canvas.dataset.chart](canvas));
  };

  const follow = (canvas) => {
    const timer = window.setInterval(async () => {
      if (document.hidden) return;
      const answer = await fetch(canvas.dataset.poll, { headers: { Accept: "application/json" } }).catch(() => null);
      if (!answer || !answer.ok) return;
      const data = await answer.json();
      if (!canvas.rows || data.points.length !== canvas.rows.length) {
        canvas.rows = data.points;
        canvas.parentElement.querySelector("[data-empty]").hidden = data.points.length > 0;
        const next = curve(canvas).data.datasets;
        canvas.chart.data.datasets.forEach((set, at) => { set.data = next[at].data; });
        canvas.chart.update();
      }
      if (data.over) window.clearInterval(timer);
    }, 2500);
  };

  document.querySelectorAll("canvas[data-chart]").forEach((canvas) => {
    charts.push(canvas);
    draw(canvas);
    if (canvas.dataset.poll) follow(canvas);
  });
  document.addEventListener("hydra:theme", () => charts.forEach(draw));
});
